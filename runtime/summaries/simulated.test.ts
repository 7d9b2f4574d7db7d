import { afterAll, beforeAll, expect, test } from "vitest";
import { startSimulator } from "../../evals/simulator/simulator.ts";
import { placed, turn, turnN, words } from "../../machines/conversation/testing/turns.ts";
import { callId, sessionId } from "../../machines/ids.ts";
import { simulatedRoutes } from "../model-routes.ts";
import { modelsOf } from "../models/profiles.ts";
import { modelSummariser } from "./summariser.ts";
import { summarised } from "./summarising.ts";

let simulator: Awaited<ReturnType<typeof startSimulator>>;
beforeAll(async () => {
  simulator = await startSimulator({});
});
afterAll(() => simulator.close());

test("C-02 B-04 the summariser's request is taken by both strict wires, and their answer is taken as a summary", async () => {
  const entries = placed([
    ...turn(1, { says: "Who is pat-001?", steps: [["{}"], ["{}", "{}"]], answer: "A patient." }),
    // A call without a result, as a time-out leaves it.
    ...turn(2, { says: "And var-120?", steps: [["{}"]] }).slice(0, 2),
    ...turn(3, { says: `Long: ${words(900)}`, answer: "Noted." }),
  ]);
  const work = { sessionId: sessionId("00000000-0000-4000-8000-00000000000a"), turnId: turnN(9) };
  for (const route of simulatedRoutes(simulator.url)) {
    const [model] = modelsOf([route], { newCallId: () => callId("c") });
    const draft = await summarised(
      { ...work, from: 0, to: 9, entries, earlier: "Earlier: nothing.", cap: 400 },
      { summariser: modelSummariser(model), monotonic: () => 0, onCall: () => {} },
      new AbortController().signal,
    );
    expect([draft.passes, draft.text.includes("pat-001"), draft.text.includes("var-120")]).toEqual([1, true, true]);
  }
});
