import type { SessionId } from "../../../machines/ids.ts";
import { newSession, newTurn, wholeTurn } from "../../../persistence/testing/store-scene.ts";
import { realClock } from "../../effects.ts";
import type { Drafts } from "../../summaries/drafts.ts";
import type { Summariser, SummaryRequest } from "../../summaries/summariser.ts";
import { digestOf, type SummaryWork } from "../../summaries/summarising.ts";
import { queuedDrafts, summaryProcessor } from "../summaries.ts";
import type { JobsScene, Node } from "./jobs-scene.ts";

/** A session of four turns of which the first two can be summed up. */
export async function summedUp({ store }: JobsScene): Promise<SummaryWork & { readonly digest: string }> {
  const id: SessionId = await newSession(store);
  for (let n = 1; n <= 4; n++) await wholeTurn(store, id, n, n - 1);
  const entries = (await store.histories.load(id, 0)).filter(({ pos }) => pos < 2);
  const work = { sessionId: id, turnId: newTurn(), from: 0, to: 2, entries, earlier: "", cap: 300 };
  return { ...work, digest: digestOf(work) };
}

/** A summariser that answers as told; `asked` counts its requests. */
export function summariserOf(answer: (request: SummaryRequest, signal: AbortSignal) => Promise<string>) {
  const state = { asked: 0 };
  const summariser: Summariser = {
    profile: "cheap",
    issuer: "gemini-api",
    projector: 1,
    window: 32_000,
    async answer(request, signal) {
      state.asked += 1;
      const text = await answer(request, signal);
      return { text, truncated: false, usage: { input: 1, output: 1, thinking: 0, cached: 0 } };
    },
  };
  return { summariser, state };
}

/** Makes `node` one that makes summaries. Gives the codes of those that failed. */
export function worksOnSummaries(
  { store }: JobsScene,
  node: Node,
  summariser: Summariser,
  { limitMs = 10_000, concurrency = 4 } = {},
): unknown[] {
  const failures: unknown[] = [];
  const { histories, summaries } = store;
  const onFailure = (error: unknown) => failures.push(error);
  const processor = summaryProcessor({
    summariser,
    histories,
    summaries,
    clock: realClock,
    limitMs,
    onCall: () => {},
    onFailure,
  });
  node.workers({ summaries: processor }, { concurrency });
  return failures;
}

export function draftsOf(
  { store }: JobsScene,
  { producer, waits }: Node,
  limitMs = 10_000,
): { drafts: Drafts; failures: unknown[] } {
  const failures: unknown[] = [];
  const onFailure = (error: unknown) => failures.push(error);
  const common = { producer, waits, store: store.summaries, clock: realClock };
  return { drafts: queuedDrafts({ ...common, limitMs, summariserWindow: 32_000, onFailure }), failures };
}
