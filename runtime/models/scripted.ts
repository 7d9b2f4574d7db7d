import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import type { AssistantPart } from "../../machines/conversation/entries.ts";
import { callId } from "../../machines/ids.ts";
import type { Model, ModelEvent, ModelRequest, Usage } from "../../machines/model.ts";
import { type ModelFailure, ModelUnavailable } from "./failures.ts";

/** One scripted answer of a model. `turn` counts the model's answers from 1, so that call ids never repeat. */
export type Move = (request: ModelRequest, signal: AbortSignal, turn: number) => AsyncIterable<ModelEvent>;

export type Said = {
  readonly thinking?: string;
  /** All in one turn of the event loop, as one packet of a provider brings it, and without any latency. */
  readonly atOnce?: boolean;
  readonly truncated?: boolean;
  readonly usage?: Usage;
};

const NO_USAGE: Usage = { input: 0, output: 0, thinking: 0, cached: 0 };
const ENDING = { profile: "scripted", issuer: "scripted", usage: NO_USAGE } as const;

/** Each piece has a turn of the event loop of its own, so that clients are sent it as a signal of its own. */
async function* shown(events: Iterable<ModelEvent>, signal: AbortSignal): AsyncGenerator<ModelEvent> {
  for (const event of events) {
    yield event;
    await turnOfTheLoop(undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

const words = (text: string): readonly ModelEvent[] =>
  (text.match(/\S+\s*|\s+/g) ?? []).map((delta) => ({ type: "text", delta }));

const textParts = (text: string): readonly AssistantPart[] => (text === "" ? [] : [{ kind: "text", text }]);

/** Streams `text` word by word. */
export const says = (
  text: string,
  { thinking, truncated = false, usage = NO_USAGE, atOnce = false }: Said = {},
): Move =>
  async function* (_request, signal) {
    const thought: readonly ModelEvent[] = thinking === undefined ? [] : [{ type: "thinking", delta: thinking }];
    const events = [...thought, ...words(text)];
    yield* atOnce ? events : shown(events, signal);
    const reasoning: readonly AssistantPart[] = thinking === undefined ? [] : [{ kind: "reasoning", text: thinking }];
    yield { type: "end", ...ENDING, usage, truncated, parts: [...reasoning, ...textParts(text)] };
  };

export type Asked = { readonly tool: string; readonly args?: unknown };

/** Asks for all of these tools in one answer, after `text`. */
export const callsAll = (asked: readonly Asked[], text = ""): Move =>
  async function* (_request, signal, turn) {
    yield* shown(words(text), signal);
    const calls = asked.map(
      ({ tool, args = {} }, at): AssistantPart => ({
        kind: "tool_call",
        call: { callId: callId(`call-${turn}-${at + 1}`), name: tool, args },
      }),
    );
    yield { type: "end", ...ENDING, truncated: false, parts: [...textParts(text), ...calls] };
  };

/** Asks for one tool. */
export const calls = (tool: string, args: unknown = {}): Move => callsAll([{ tool, args }]);

/** Throws `failure`, after showing `text` if there is any. */
export const fails = (failure: ModelFailure = new ModelUnavailable("overloaded"), text = ""): Move =>
  async function* (_request, signal) {
    yield* shown(words(text), signal);
    throw failure;
  };

/** Shows `text`, then nothing until the call is aborted. */
export const hangs = (text = ""): Move =>
  async function* (_request, signal) {
    yield* shown(words(text), signal);
    await new Promise((_, reject) => {
      if (signal.aborted) reject(signal.reason);
      else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  };

/** Waits for `gate` before it moves: holds an answer back until a test lets it go. */
export const after = (gate: Promise<unknown>, move: Move): Move =>
  async function* (request, signal, turn) {
    await gate;
    signal.throwIfAborted();
    yield* move(request, signal, turn);
  };

/** Answers as the request demands: the echo, the planner or the oracle of a test. */
export const decides = (choose: (request: ModelRequest) => Move): Move =>
  async function* (request, signal, turn) {
    yield* choose(request)(request, signal, turn);
  };

/** A model without network. `requests` holds what it was asked, oldest first. */
export type ScriptedModel = Model & { readonly requests: readonly ModelRequest[] };

/** Plays `moves` in order and repeats the last one. */
export function scriptedModel(...moves: readonly [Move, ...Move[]]): ScriptedModel {
  const requests: ModelRequest[] = [];
  const last = moves[moves.length - 1] ?? moves[0];
  return {
    name: "scripted",
    issuer: "scripted",
    window: 1_000_000,
    projector: 1,
    requests,
    async *stream(request, signal) {
      signal.throwIfAborted();
      requests.push(request);
      const turn = requests.length;
      yield* (moves[turn - 1] ?? last)(request, signal, turn);
    },
  };
}
