import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Move, writeTurn } from "../../client/testing/scripted-turn.ts";
import { plain, SESSION, TURN } from "../../client/testing/signals.ts";
import type { Signal } from "../../machines/protocol/signals.ts";
import type { Block, SessionState, Turn } from "../../machines/protocol/turns.ts";
import type { AguiEvent, ForeignMessage } from "./events.ts";
import { RunEvents } from "./run-events.ts";
import { agentOver, check, type Held } from "./testing/agent.ts";

const at = fc.nat({ max: 5 });
const move: fc.Arbitrary<Move> = fc.oneof(
  fc.record({
    kind: fc.constant("start" as const),
    type: fc.constantFrom("text" as const, "thinking" as const, "recommend_lifestyle" as const),
  }),
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("write" as const), block: at, text: fc.string({ unit: "grapheme" }) }),
  },
  fc.record({ kind: fc.constant("reset" as const), block: at }),
  fc.record({ kind: fc.constant("restart" as const), block: at }),
  fc.record({ kind: fc.constant("finish" as const), block: at }),
);
/** Failed once: a message that has begun and is still empty when another one is taken back. */
const EMPTY_AT_RESET: Move[] = [
  { kind: "start", type: "text" },
  { kind: "start", type: "text" },
  { kind: "reset", block: 0 },
  { kind: "write", block: 0, text: "kept" },
];
const moves = fc.array(move, { maxLength: 40 });
const facts = { threadId: "thread", runId: "run", sessionId: SESSION, turnId: TURN, ignored: [] };
const state: SessionState = { status: "turning", pending_interaction: null, queue: [] };

/** Text messages that a client holds, in any order: what is restated keeps the place it had. */
const textsOf = (messages: readonly Held[]) =>
  messages.flatMap(({ role, content }) => (role === "assistant" && content !== "" ? [String(content)] : [])).sort();
const storedTexts = (blocks: readonly Block[]) =>
  blocks.flatMap(({ type, content }) => (type === "text" && content["text"] ? [String(content["text"])] : [])).sort();

describe("[AG5] the protocol's own client takes every run and ends with the stored text", () => {
  test("told in one", async () => {
    await fc.assert(
      fc.asyncProperty(moves, async (script) => {
        const { frames, stored } = writeTurn(script);
        const agent = agentOver((messages) => eventsOf(messages, undefined, frames));
        agent.addMessage({ id: "u1", role: "user", content: "hello" });
        await agent.runAgent({ runId: "run" });
        expect(textsOf(agent.messages)).toEqual(storedTexts(stored));
      }),
      { numRuns: 200, examples: [[EMPTY_AT_RESET]] },
    );
  });

  test("cut anywhere and posted again, from what is held at that moment", async () => {
    await fc.assert(
      fc.asyncProperty(moves, fc.nat(), fc.nat(), async (script, cut, skip) => {
        const { frames, stored, heldAfter } = writeTurn(script);
        const until = 1 + (cut % frames.length);
        const resumed = until + (skip % (frames.length - until + 1));
        let runs = 0;
        const agent = agentOver((messages) => {
          runs += 1;
          return runs === 1
            ? eventsOf(messages, undefined, frames.slice(0, until))
            : eventsOf(messages, heldAfter[resumed - 1], frames.slice(resumed));
        });
        agent.addMessage({ id: "u1", role: "user", content: "hello" });
        await agent.runAgent({ runId: "run" });
        await agent.runAgent({ runId: "run" });
        expect(textsOf(agent.messages)).toEqual(storedTexts(stored));
      }),
      { numRuns: 200 },
    );
  });

  test("when a new owner of the session says in mid-run what is stored", async () => {
    await fc.assert(
      fc.asyncProperty(moves, fc.nat(), fc.nat(), async (script, cut, skip) => {
        const { frames, stored, heldAfter } = writeTurn(script);
        const until = 1 + (cut % frames.length);
        const resumed = Math.min(frames.length, until + (skip % 10));
        const turns = [heldAfter[resumed - 1]].flatMap((turn) => turn ?? []);
        const resync = plain("resync", { from_turn: 1, turns, state, seq: resumed });
        const agent = agentOver((messages) =>
          eventsOf(messages, undefined, [...frames.slice(0, until), resync, ...frames.slice(resumed)]),
        );
        agent.addMessage({ id: "u1", role: "user", content: "hello" });
        await agent.runAgent({ runId: "run" });
        expect(textsOf(agent.messages)).toEqual(storedTexts(stored));
      }),
      { numRuns: 200 },
    );
  });
});

function eventsOf(
  messages: readonly ForeignMessage[],
  turn: Turn | undefined,
  signals: readonly Signal[],
): AguiEvent[] {
  const said: AguiEvent[] = [];
  const events = new RunEvents({ ...facts, messages }, (event) => {
    check(event);
    said.push(event);
  });
  if (turn === undefined) events.begin();
  else events.begin({ turn, state });
  for (const signal of signals) events.hear(signal);
  return said;
}
