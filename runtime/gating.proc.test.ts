/** What is switched off for a user does not exist for the model: seen in what the model's server received. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Simulator, startSimulator } from "../evals/simulator/simulator.ts";
import { processScene, type Server } from "./testing/process.ts";

const scene = processScene();
let simulator: Simulator;
let server: Server;

beforeAll(async () => {
  simulator = await startSimulator();
  server = await scene.start({
    GEMINI_BASE_URL: simulator.url,
    GEMINI_API_KEY: "key-of-this-test",
    ALLOW_NO_ORIGIN: "1",
  });
});
afterAll(async () => {
  await scene.clean();
  await simulator?.close();
});

/** Everything the model's server was sent during one turn of `user`, without the user's own words. */
async function sentFor(user: string, text: string) {
  const before = simulator.requests().length;
  const talk = await server.talk({ cookie: await server.login(user) });
  const answer = await talk.say(text);
  await talk.close();
  const requests = simulator.requests().slice(before);
  return { answer, requests: requests.length, sent: JSON.stringify(requests).replaceAll(text, "") };
}

test("J-03 [Show 4] dr-okafor has no research: neither skill nor tools are in any request, nor suggested", async () => {
  const { answer, requests, sent } = await sentFor(
    "dr-okafor",
    "What does the evidence say about magnesium for sleep?",
  );
  expect(requests).toBeGreaterThan(0);
  expect(["research-evidence", "evidence_search", "cite_sources"].filter((name) => sent.includes(name))).toEqual([]);
  expect(sent).toContain("interaction_check");
  expect(answer.ending).toBe("turn_completed");
  expect(answer.text).not.toMatch(/research-evidence|evidence_search|cite_sources/);
});

test("J-03 [Show 4] dr-chen has no plan builder: neither skill nor write tools are in any request", async () => {
  const { answer, sent } = await sentFor("dr-chen", "Add magnesium to a draft plan for Marisol Vantreight");
  const off = ["propose-plan", "treatment_plan_create", "treatment_plan_update"];
  expect(off.filter((name) => sent.includes(name))).toEqual([]);
  expect(sent).toContain("research-evidence");
  expect(answer.tools.filter((tool) => tool.startsWith("treatment_plan_create"))).toEqual([]);
});

test("J-03 [Show 4] dr-rivera has both", async () => {
  const { sent } = await sentFor("dr-rivera", "What can you do?");
  const on = ["research-evidence", "evidence_search", "propose-plan", "treatment_plan_create"];
  expect(on.filter((name) => !sent.includes(name))).toEqual([]);
});
