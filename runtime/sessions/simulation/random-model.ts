import type { AssistantPart } from "../../../machines/conversation/entries.ts";
import { callId } from "../../../machines/ids.ts";
import type { Model, ModelEvent, ModelRequest } from "../../../machines/model.ts";
import { ModelBlocked, ModelUnavailable } from "../../models/failures.ts";
import type { Gate } from "./gate.ts";
import type { Random } from "./random.ts";

type Watch = {
  /** A call begins; the returned function is told that it ended. */
  asked(request: ModelRequest, signal: AbortSignal): () => void;
};

const WORDS = ["one ", "two ", "  ", "three\n", "été "];

/** A model that answers, calls tools, fails, resets or hangs, as chance says; each piece waits at the gate. */
export function randomModel(random: Random, gate: Gate, owner: string, tools: readonly string[], watch: Watch): Model {
  const say = (type: "text" | "thinking"): ModelEvent[] =>
    Array.from({ length: 1 + random.below(3) }, () => ({ type, delta: random.one(WORDS) }));
  const wordsOf = (events: readonly ModelEvent[], type: "text" | "thinking") =>
    events.map((event) => (event.type === type ? event.delta : "")).join("");

  /** What is streamed, without the end. */
  const showing = (): ModelEvent[] => [...(random.happens(0.3) ? say("thinking") : []), ...say("text")];

  const ending = (shown: readonly ModelEvent[], calls: readonly string[]): ModelEvent => {
    const thought = wordsOf(shown, "thinking");
    const text = wordsOf(shown, "text");
    const parts: AssistantPart[] = [
      ...(thought === "" ? [] : [{ kind: "reasoning" as const, text: thought }]),
      ...(text === "" ? [] : [{ kind: "text" as const, text }]),
      ...calls.map((name) => ({ kind: "tool_call" as const, call: { callId: callId(random.uuid()), name, args: {} } })),
    ];
    const usage = { input: 10, output: 5, thinking: 0, cached: 0 };
    return { type: "end", parts, truncated: random.happens(0.1), usage, profile: "random", issuer: "scripted" };
  };

  const script = (): { events: ModelEvent[]; then: "end" | "fail" | "hang" } => {
    const void_ = random.happens(0.15) ? [...showing(), { type: "reset" as const, reason: "retry" as const }] : [];
    const then = random.weighted([
      [8, "end"],
      [1, "fail"],
      [1.2, "hang"],
    ] as const);
    const shown = random.happens(0.2) ? [] : showing();
    if (then !== "end") return { events: [...void_, ...shown], then };
    const asks = shown.length === 0 || random.happens(0.5);
    const calls = asks ? Array.from({ length: 1 + random.below(3) }, () => random.one([...tools, "nowhere"])) : [];
    return { events: [...void_, ...shown, ending(shown, calls)], then };
  };

  return {
    name: "random",
    issuer: "scripted",
    window: 1_000_000,
    projector: 1,
    async *stream(request, signal) {
      const ended = watch.asked(request, signal);
      // Some adapters hear of an abort late: whoever asked must not listen to them any more.
      const heard = random.happens(0.7) ? { signal } : {};
      try {
        const { events, then } = script();
        for (const event of events) yield await gate.hold(owner, `model.${event.type}`, async () => event, heard);
        if (then === "hang") await gate.hold(owner, "model.hangs", async () => {}, { isStuck: true, signal });
        if (random.happens(0.2)) throw new ModelBlocked();
        throw new ModelUnavailable("overloaded");
      } finally {
        ended();
        // A stream is closed over the network: that takes its time.
        if (random.happens(0.3)) await gate.hold(owner, "model.closes", async () => {});
      }
    },
  };
}
