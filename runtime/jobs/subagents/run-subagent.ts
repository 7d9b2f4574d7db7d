import { createActor, toPromise } from "xstate";
import {
  type AssistantEntry,
  callsOf,
  type Entry,
  openCalls,
  type ToolResultEntry,
} from "../../../machines/conversation/entries.ts";
import type { Clock } from "../../../machines/effects.ts";
import { Failure, failureCode } from "../../../machines/failure.ts";
import type { Model, ModelEvent, Usage } from "../../../machines/model.ts";
import { wireSubagent } from "../../../machines/subagent/subagent.machine.ts";
import type { SubagentBudget, SubagentEnding } from "../../../machines/subagent/subagent.rules.ts";
import { bounded, RESULT_CHARACTERS } from "../../../tools/bounds.ts";
import { runTool } from "../../../tools/execute.ts";
import type { SubagentCall } from "../../../tools/subagents.ts";
import type { Tool, Toolbox } from "../../../tools/tool.ts";

/** A sub-agent as its kind defines it: what it is told, what it may call, and the tools that end it. */
export type SubagentDefinition = {
  readonly system: string;
  /** What it is asked, as its first user message. */
  readonly task: string;
  readonly tools: readonly Tool[];
  /** Called with a valid result, one of them ends the sub-agent; with an invalid one it says what is wrong. */
  readonly finishing: readonly [Tool, ...Tool[]];
  /** True once a finishing tool was called with a valid result. */
  readonly isFinished: () => boolean;
  readonly budget: SubagentBudget;
};

/** One model call of a sub-agent, for the audit of its parent's turn. Times in milliseconds. */
export type SubagentModelCall = {
  readonly step: number;
  readonly outcome: string;
  readonly profile: string;
  readonly issuer: string;
  readonly usage: Usage;
  readonly ms: number;
};

export type RunSubagent = {
  readonly model: Model;
  readonly clock: Clock;
  readonly maxOutputTokens: number;
  /** Dollars of one call; none by default. */
  readonly priceOf?: (usage: Usage) => number;
  readonly onModelCall: (call: SubagentModelCall) => void;
  /** Told before each step; codes and numbers only. */
  readonly onStep: (step: number, of: number) => void;
};

/** The platform refused the login that its turn gave it: nothing it could look up would come. */
class LoginRefused extends Failure {
  readonly code = "auth_required";
  readonly retryable = false;
}

/** Runs one sub-agent to its end. Rejects only with `signal`'s reason. Its history ends with it. */
export async function runSubagent(
  definition: SubagentDefinition,
  call: SubagentCall,
  { model, clock, maxOutputTokens, priceOf = () => 0, onModelCall, onStep }: RunSubagent,
  signal: AbortSignal,
): Promise<SubagentEnding> {
  const { sessionId, turnId } = call;
  const entries: Entry[] = [{ kind: "user", turnId, text: definition.task }];
  const { finishing } = definition;
  const all = [...definition.tools, ...finishing];
  const ends = finishing.map(({ name }) => name).join(" or ");
  const reminder = `Go on with the task. It ends only when you call ${ends}.`;
  const concluding = `Your budget is spent. Call ${ends} now with what you have.`;
  const toolbox: Toolbox = { tools: all, find: (name) => all.find((tool) => tool.name === name) };
  const loadedSkills = new Set<string>();

  const chart = wireSubagent({
    async askModel({ step, last, reminded }, stop) {
      onStep(step, definition.budget.steps);
      if (last || reminded) entries.push({ kind: "user", turnId, text: last ? concluding : reminder });
      const began = clock.monotonic();
      const request = {
        system: definition.system,
        tools: last ? finishing : all,
        entries: [...entries],
        maxOutputTokens,
        thinking: true,
      };
      try {
        const end = await ended(model.stream(request, stop));
        stop.throwIfAborted();
        const ms = clock.monotonic() - began;
        const { profile, issuer, usage, parts, truncated } = end;
        onModelCall({ step, outcome: "ok", profile, issuer, usage, ms });
        const said: AssistantEntry = {
          kind: "assistant",
          turnId,
          step,
          issuer,
          profile,
          parts,
          ...(truncated && { truncated }),
        };
        entries.push(said);
        const calls = callsOf(said).map(({ callId, name }) => ({ callId, name }));
        return { calls, ms, tokens: usage.input + usage.output + usage.thinking, cost: priceOf(usage) };
      } catch (error) {
        const ms = clock.monotonic() - began;
        const outcome = stop.aborted ? "cancelled" : failureCode(error);
        onModelCall({ step, outcome, profile: model.name, issuer: model.issuer, usage: NOTHING, ms });
        throw error;
      }
    },

    async runTools(_, stop) {
      const began = clock.monotonic();
      const step = { sessionId, turnId, principal: call.principal, credential: call.credential, loadedSkills };
      let loginRefused = false;
      const results = await Promise.all(
        openCalls(entries).map(async (open): Promise<ToolResultEntry> => {
          const result = await runTool(toolbox, open, step, stop);
          if (result.kind === "error" && result.reason === "auth") loginRefused = true;
          const { callId, name } = open;
          const base = { kind: "tool_result", turnId, callId, name } as const;
          if (result.kind === "pause") return { ...base, outcome: "error", text: "A sub-agent can't ask the user." };
          return { ...base, outcome: result.kind, text: bounded(result.text, RESULT_CHARACTERS) };
        }),
      );
      stop.throwIfAborted();
      entries.push(...results);
      if (loginRefused && !definition.isFinished())
        throw new LoginRefused("the login of a sub-agent's turn is not valid any more; the user has to log in again");
      return { ms: clock.monotonic() - began, finished: definition.isFinished() };
    },
  });

  const actor = createActor(chart, { input: { budget: definition.budget } });
  const cancel = () => actor.send({ type: "subagent.cancel" });
  signal.throwIfAborted();
  signal.addEventListener("abort", cancel, { once: true });
  try {
    const end = toPromise(actor);
    actor.start();
    const ending = await end;
    signal.throwIfAborted();
    return ending;
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

const NOTHING: Usage = { input: 0, output: 0, thinking: 0, cached: 0 };

async function ended(stream: AsyncIterable<ModelEvent>): Promise<Extract<ModelEvent, { type: "end" }>> {
  for await (const event of stream) if (event.type === "end") return event;
  throw new TypeError("a model ended its stream without an end");
}
