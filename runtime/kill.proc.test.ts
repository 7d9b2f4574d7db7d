/** kill -9 at an instant of a turn: the next process settles exactly one turn for the message, and nobody has to come. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type Simulator, startSimulator } from "../evals/simulator/simulator.ts";
import { type PlatformFront, platformFront } from "./testing/platform-front.ts";
import { processScene, type Server } from "./testing/process.ts";
import { textOf, turnsOf } from "./testing/stored.ts";
import type { Talk } from "./testing/talk.ts";

const QUESTION = "Does ginkgo interact with warfarin?";
const SLOW = { firstByteMs: 50, tokenMs: 15 };
const scene = processScene();
let simulator: Simulator;
let front: PlatformFront;
let server: Server;
let cookie: string;
let env: Record<string, string>;

beforeAll(async () => {
  [simulator, front] = await Promise.all([startSimulator(), platformFront()]);
  env = { GEMINI_BASE_URL: simulator.url, PLATFORM_URL: front.url };
  server = await scene.start(env);
  cookie = await front.cookieOf("dr-rivera");
});
afterAll(async () => {
  await scene.clean();
  await Promise.all([simulator?.close(), front?.close()]);
});

/** A tool call has left and will never be answered. */
const toolCalled = (): Promise<void> =>
  new Promise((resolve) => {
    front.intercept = ({ tool }) => {
      if (tool !== "interaction_check") return undefined;
      resolve();
      return Promise.resolve("silence");
    };
  });

const instants: Record<string, (talk: Talk) => Promise<unknown>> = {
  "right after message_accepted": (talk) => talk.until("message_accepted"),
  "while the turn opens": (talk) => talk.until("turn_started"),
  "during the answer's stream": (talk) => talk.until("llm_delta"),
  "during a tool call": toolCalled,
  "after a tool has answered": (talk) => talk.until("tool_call_finished"),
  "right after turn_completed": (talk) => talk.until("turn_completed"),
};

for (const [instant, comes] of Object.entries(instants)) {
  test(`[D-08] killed ${instant}: one settled turn, without a client`, async () => {
    simulator.setKnobs(SLOW);
    const talk = await server.talk({ cookie });
    const reached = comes(talk);
    talk.post(QUESTION);
    await talk.until("message_accepted");
    await reached;
    await server.kill("SIGKILL");

    simulator.setKnobs({ firstByteMs: 0, tokenMs: 0 });
    front.intercept = () => undefined;
    server = await scene.start(env, server.dataDir);
    const turns = await vi.waitFor(
      async () => {
        const all = await turnsOf(server, cookie, talk.session);
        expect(all.map(({ outcome }) => outcome)).toEqual(["completed"]);
        return all;
      },
      { timeout: 20_000, interval: 100 },
    );
    expect(turns.map(({ n, input }) => [n, "text" in input && input.text])).toEqual([[1, QUESTION]]);
    expect(turns.map(textOf).join()).toMatch(/major|moderate|minor/i);

    // The history that the turn left is one that the (strict) model accepts.
    const next = await server.talk({ cookie, session: talk.session });
    expect(await next.say("What did I just ask?")).toMatchObject({ ending: "turn_completed" });
    await next.close();
  });
}
