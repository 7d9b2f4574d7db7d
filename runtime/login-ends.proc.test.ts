/** The login dies in the middle of a turn, in each way a platform may say so. */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { testDatabase } from "../persistence/testing/database.ts";
import { type Answer, type PlatformFront, platformFront } from "./testing/platform-front.ts";
import { processScene, type Server } from "./testing/process.ts";

const QUESTION = "Does ginkgo interact with warfarin?";
const LOGIN_PAGE = '<html><form action="/login"><input name="password" type="password"></form></html>';
const HTML = { "content-type": "text/html" };
const scene = processScene();
let front: PlatformFront;
let server: Server;
let database: Awaited<ReturnType<typeof testDatabase>>;

beforeAll(async () => {
  [front, database] = await Promise.all([platformFront(), testDatabase()]);
  server = await scene.start({ PLATFORM_URL: front.url, DATABASE_URL: database.url });
});
afterEach(() => {
  front.intercept = () => undefined;
});
afterAll(async () => {
  await scene.clean();
  await front?.close();
  await database?.drop();
});

const endings: Record<string, Answer> = {
  "(a) 401": { status: 401, headers: {}, body: "" },
  "(b) 302 to the login page": { status: 302, headers: { location: "/login" }, body: "" },
  "(c) 200 with a login form": { status: 200, headers: HTML, body: LOGIN_PAGE },
};

for (const [name, answer] of Object.entries(endings)) {
  test(`[F-10] ${name} in mid-turn: auth_expired, an orderly end, and a fresh login goes on`, async () => {
    const cookie = await front.cookieOf("dr-rivera");
    const talk = await server.talk({ cookie });
    let seen = 0;
    front.intercept = ({ path, tool }) => {
      if (tool === "interaction_check") seen += 1;
      if (path === "/login") seen += 100;
      return seen > 0 && path === "/mcp" ? Promise.resolve(answer) : undefined;
    };
    const ended = await talk.say(QUESTION);
    expect(ended).toMatchObject({
      ending: "turn_failed",
      code: "auth_required",
      tools: ["load_skill ok", "interaction_check error"],
    });
    await talk.until("auth_expired");
    // Asked once, with that cookie; no redirect was followed.
    expect(seen).toBe(1);
    expect(JSON.stringify(talk.frames)).not.toContain("<form");

    front.intercept = () => undefined;
    const fresh = await server.talk({ cookie: await front.cookieOf("dr-rivera"), session: talk.session });
    expect(await fresh.say(QUESTION)).toMatchObject({ ending: "turn_completed" });
    await fresh.close();
  });
}

test("[F-10] (d) 403 for one tool only: that call fails, the turn goes on", async () => {
  const talk = await server.talk({ cookie: await front.cookieOf("dr-rivera") });
  front.intercept = ({ tool }) =>
    tool === "interaction_check" ? Promise.resolve({ status: 403, headers: {}, body: "" }) : undefined;
  const ended = await talk.say(QUESTION);
  expect(ended.ending).toBe("turn_completed");
  expect(ended.tools).toContain("interaction_check error");
  expect(talk.frames.filter(({ kind }) => kind === "auth_expired")).toEqual([]);
  await talk.close();
});
