/** What the server leans on goes away and comes back: it says so, refuses in order, and recovers by itself. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { testDatabase } from "../persistence/testing/database.ts";
import { type CutWire, cutWire } from "./testing/cut-wire.ts";
import { type PlatformFront, platformFront } from "./testing/platform-front.ts";
import { processScene, type Server } from "./testing/process.ts";
import { turnsOf } from "./testing/stored.ts";
import { UpgradeRefused } from "./testing/talk.ts";

const QUESTION = "Does ginkgo interact with warfarin?";
const OFTEN = { timeout: 20_000, interval: 50 };
const scene = processScene();
let front: PlatformFront;
let wire: CutWire;
let server: Server;
let cookie: string;
let database: Awaited<ReturnType<typeof testDatabase>>;

beforeAll(async () => {
  [front, database] = await Promise.all([platformFront(), testDatabase()]);
  wire = await cutWire(database.url);
  server = await scene.start({ PLATFORM_URL: front.url, DATABASE_URL: wire.url });
  cookie = await front.cookieOf("dr-rivera");
});
afterAll(async () => {
  await scene.clean();
  await Promise.all([wire?.close(), front?.close()]);
  await database?.drop();
});

const readiness = async () => (await server.get("/readyz")).status;
const refusedWith = async (options: { cookie: string; session?: string }) => {
  const talk = await server.talk(options).catch((error: unknown) => error);
  return talk instanceof UpgradeRefused ? talk.status : "open";
};

test("the platform is down: 503 at the upgrade, a tool error in a turn, and the service stays up", async () => {
  const talk = await server.talk({ cookie });
  front.intercept = ({ tool }) => {
    if (tool === undefined) return undefined;
    front.intercept = () => undefined;
    return front.down().then(() => "silence" as const);
  };
  const ended = await talk.say(QUESTION);
  expect(ended.ending).toBe("turn_completed");
  expect(ended.tools).toEqual(["load_skill ok", "interaction_check error"]);

  const fresh = "platform_session=nobody-has-asked-about-this-one";
  expect(await refusedWith({ cookie: fresh })).toBe(503);
  expect(await readiness()).toBe(200);

  await front.up();
  const again = await server.talk({ cookie });
  expect(await again.say(QUESTION)).toMatchObject({ tools: ["load_skill ok", "interaction_check ok"] });
  await Promise.all([talk.close(), again.close()]);
});

test("the database is gone while running: not ready, `unavailable`, and both are over once it is back", async () => {
  const talk = await server.talk({ cookie });
  await talk.say("What can you do?");
  await wire.cut();
  await vi.waitFor(async () => expect(await readiness()).toBe(503), OFTEN);
  const id = talk.post("Is anybody there?");
  expect(await talk.until("error", ({ data }) => data.id === id)).toMatchObject({ data: { code: "unavailable" } });
  expect(await refusedWith({ cookie, session: talk.session })).toBe(503);

  await wire.mend();
  await vi.waitFor(async () => expect(await readiness()).toBe(200), OFTEN);
  // The same socket, the same command: nothing of it was kept, so it is taken now.
  talk.send({ type: "message", id, text: "Is anybody there?" });
  const accepted = await talk.until("message_accepted", ({ data }) => data.id === id);
  expect(await talk.ended(accepted.data.turn_id)).toMatchObject({ ending: "turn_completed" });
  await talk.close();
});

test("the database is gone for a moment in mid-turn: the turn waits for it and is stored whole", async () => {
  const talk = await server.talk({ cookie });
  front.intercept = ({ tool }, pass) =>
    tool === "interaction_check"
      ? wire.cut().then(async () => {
          const answer = await pass();
          setTimeout(() => void wire.mend(), 1_500);
          return answer;
        })
      : undefined;
  expect(await talk.say(QUESTION)).toMatchObject({
    ending: "turn_completed",
    tools: ["load_skill ok", "interaction_check ok"],
  });
  front.intercept = () => undefined;
  expect((await turnsOf(server, cookie, talk.session)).map(({ outcome }) => outcome)).toEqual(["completed"]);
  await talk.close();
});
