import { describe, expect, test } from "vitest";
import { placed, turn, turnN } from "../../machines/conversation/testing/turns.ts";
import type { Clock } from "../../machines/effects.ts";
import { failureCode } from "../../machines/failure.ts";
import { sessionId } from "../../machines/ids.ts";
import type { Summaries as StoredDrafts, SummaryDraft } from "../../persistence/store.ts";
import { ModelUnavailable } from "../models/failures.ts";
import { localDrafts } from "./drafts.ts";
import type { Summariser } from "./summariser.ts";
import type { SummaryWork } from "./summarising.ts";

const id = sessionId("00000000-0000-4000-8000-00000000000a");
const work = (from: number): SummaryWork => ({
  sessionId: id,
  turnId: turnN(9),
  from,
  to: from + 2,
  entries: placed(turn(1, { says: "Is zinc fine?", answer: "Yes." }), from),
  earlier: "",
  cap: 300,
});

/** A clock that rings when it is told to. */
function handClock() {
  const sleepers = new Set<() => void>();
  const clock: Clock = {
    now: () => 0,
    monotonic: () => 0,
    sleep: (_, signal) =>
      new Promise((resolve, reject) => {
        sleepers.add(resolve);
        signal?.addEventListener("abort", () => {
          sleepers.delete(resolve);
          reject(signal.reason);
        });
      }),
    every: () => () => {},
    soon: () => {},
  };
  return { clock, ring: () => [...sleepers].map((wake) => wake()) };
}

function scene(answer: (signal: AbortSignal) => Promise<string>) {
  const stored = new Map<number, SummaryDraft>();
  const failures: string[] = [];
  let asked = 0;
  const summariser: Summariser = {
    profile: "cheap",
    issuer: "gemini-api",
    projector: 1,
    window: 32_000,
    async answer(_, signal) {
      asked += 1;
      return { text: await answer(signal), truncated: false, usage: { input: 1, output: 1, thinking: 0, cached: 0 } };
    },
  };
  const store: StoredDrafts = {
    async keep(_, draft) {
      stored.set(draft.from, draft);
      return true;
    },
    find: async (_, anchor) => stored.get(anchor),
  };
  const { clock, ring } = handClock();
  const onFailure = (error: unknown) => failures.push(failureCode(error));
  const drafts = localDrafts({ summariser, store, clock, limitMs: 60_000, onCall: () => {}, onFailure });
  return { drafts, stored, failures, ring, asked: () => asked };
}

describe("drafts", () => {
  test("[DR1] two who ask for one anchor get one draft; it is stored, and known to be ready", async () => {
    const { drafts, stored, asked } = scene(async () => "So far.");
    const [one, two] = await Promise.all([drafts.make(work(0)), drafts.make(work(0))]);
    await drafts.close();
    expect([asked(), one, stored.get(0), drafts.isReady(id, 0), drafts.isReady(id, 2)]).toEqual([
      1,
      two,
      one,
      true,
      false,
    ]);
    drafts.forget(id, 0);
    expect(drafts.isReady(id, 0)).toBe(false);
  });

  test("C-05 [DR2] one that hangs is given up at the limit, though it hears no signal", async () => {
    const { drafts, failures, ring } = scene(() => new Promise(() => {}));
    const made = drafts.make(work(0));
    await Promise.resolve();
    ring();
    await expect(made).rejects.toMatchObject({ code: "summary_late" });
    expect(failures).toEqual(["summary_late"]);
  });

  test("C-05 [DR3] ahead of time a failure is told and not tried again for the same anchor; a turn may still ask", async () => {
    const { drafts, failures, asked } = scene(async () => {
      throw new ModelUnavailable("overloaded");
    });
    for (let n = 0; n < 3; n++) {
      drafts.prepare(work(0));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect([asked(), failures]).toEqual([1, ["overloaded"]]);
    await expect(drafts.make(work(0))).rejects.toMatchObject({ code: "overloaded" });
    drafts.prepare(work(4));
    await drafts.close();
    expect(asked()).toBe(3);
  });

  test("[DR4] closing ends what is being made, and begins nothing more", async () => {
    const { drafts, failures, asked } = scene(
      (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    );
    drafts.prepare(work(0));
    await drafts.close();
    drafts.prepare(work(2));
    expect([asked(), failures]).toEqual([1, ["summary_late"]]);
  });
});
