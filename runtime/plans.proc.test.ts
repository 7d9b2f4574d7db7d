/** The model behind a gateway's address, and a write that the server does not live to hear about. */
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { type Simulator, startSimulator } from "../evals/simulator/simulator.ts";
import { type PlatformFront, platformFront } from "./testing/platform-front.ts";
import { processScene, type Server } from "./testing/process.ts";
import { turnsOf } from "./testing/stored.ts";

const GATEWAY = "/gw/v1/acct/google-ai-studio";
const scene = processScene();
let simulator: Simulator;
let front: PlatformFront;
let server: Server;
let cookie: string;
let env: Record<string, string>;

beforeAll(async () => {
  [simulator, front] = await Promise.all([startSimulator(), platformFront()]);
  env = { GEMINI_BASE_URL: simulator.url + GATEWAY, GEMINI_API_KEY: "key-of-this-test", PLATFORM_URL: front.url };
  server = await scene.start(env);
  cookie = await front.cookieOf("dr-rivera");
});
afterEach(() => {
  front.intercept = () => undefined;
});
afterAll(async () => {
  await scene.clean();
  await Promise.all([simulator?.close(), front?.close()]);
});

test("[Show 5] the same conversation goes through the real SDK to an address with a gateway's prefix", async () => {
  const talk = await server.talk({ cookie });
  const answer = await talk.say("Does ginkgo interact with warfarin?");
  expect(answer).toMatchObject({ ending: "turn_completed", tools: ["load_skill ok", "interaction_check ok"] });
  await talk.close();
  const paths = simulator.requests().map(({ path }) => path.split("?")[0]);
  expect(new Set(paths)).toEqual(new Set([`${GATEWAY}/v1beta/models/gemini-2.5-pro:streamGenerateContent`]));
  expect(server.stdout()).toMatch(/^ {2}model +gemini$/im);
});

test("[Show 5] `Add it to a draft plan for …` makes one draft on the platform", async () => {
  const talk = await server.talk({ cookie });
  await talk.say("Recommend a magnesium product for Marisol Vantreight");
  const answer = await talk.say("Add it to a draft plan for Marisol Vantreight");
  expect(answer).toMatchObject({ ending: "turn_completed", skills: ["propose-plan"] });
  expect(answer.tools).toContain("treatment_plan_create ok");
  expect(await front.plansOf("dr-rivera", "pat-001")).toHaveLength(1);
  await talk.close();
});

test("[Show 5] killed right after the write: the next process settles the turn by itself, and there is one draft", async () => {
  const talk = await server.talk({ cookie });
  await talk.say("Recommend a magnesium product for Tobiah Wrenford");
  const killed = new Promise<void>((resolve) => {
    front.intercept = ({ tool }, pass) =>
      tool !== "treatment_plan_create"
        ? undefined
        : pass().then(async () => {
            // The platform has written and answered; the answer never arrives.
            await server.kill("SIGKILL");
            resolve();
            return "silence" as const;
          });
  });
  talk.post("Add it to a draft plan for Tobiah Wrenford");
  await killed;
  expect(await front.plansOf("dr-rivera", "pat-002")).toHaveLength(1);

  front.intercept = () => undefined;
  front.calls.length = 0;
  server = await scene.start(env, server.dataDir);
  const settled = await vi.waitFor(
    async () => {
      const turns = await turnsOf(server, cookie, talk.session);
      expect(turns.map(({ outcome }) => outcome)).toEqual(["completed", "completed"]);
      return turns[1];
    },
    { timeout: 20_000, interval: 100 },
  );
  expect(settled).toMatchObject({ n: 2, input: { text: "Add it to a draft plan for Tobiah Wrenford" } });
  expect(await front.plansOf("dr-rivera", "pat-002")).toHaveLength(1);
  // The write was sent again under its old key, and the platform gave the first result.
  expect(front.calls.filter((tool) => tool === "treatment_plan_create")).toEqual(["treatment_plan_create"]);
});
