import { never } from "../../machines/failure.ts";
import type { Usage } from "../../machines/model.ts";
import type { Log, LogFields } from "./log.ts";
import type { Metrics, ModelCallOutcome, ThawOutcome, ToolCallOutcome } from "./metrics.ts";

type InSession = { readonly sessionId: string };
type InTurn = InSession & { readonly turnId: string };

/** Where a turn stood when it failed: names and counts, no text. */
export type TurnContext = {
  readonly profile?: string;
  readonly step: number;
  readonly tools: readonly string[];
  readonly skills: readonly string[];
};

/** Every structured event of the runtime, in one place. Times are milliseconds. Nothing here may hold conversation text. */
export type RuntimeEvent =
  | (InSession & { readonly type: "session.thawed"; readonly outcome: ThawOutcome; readonly ms: number })
  | (InSession & { readonly type: "session.hibernated"; readonly ms: number })
  | (InTurn & { readonly type: "turn.started"; readonly cause: "message" | "resolution" | "recovery" })
  | (InTurn & { readonly type: "skill.loaded"; readonly skill: string; readonly eager: boolean })
  | (InTurn & { readonly type: "tool.called"; readonly tool: string; readonly callId: string })
  | (InTurn & {
      readonly type: "tool.finished";
      readonly tool: string;
      readonly callId: string;
      readonly outcome: ToolCallOutcome;
      readonly ms: number;
    })
  | (InTurn & {
      readonly type: "model.called";
      readonly profile: string;
      readonly step: number;
      readonly outcome: ModelCallOutcome;
      readonly ms: number;
      readonly usage?: Usage;
      readonly code?: string;
      /** `turn` when left out. */
      readonly purpose?: "turn" | "summary" | "subagent";
    })
  /** A file of an earlier turn could not be fetched; the model was sent its marker. */
  | (InTurn & { readonly type: "attachment.unavailable"; readonly code: string })
  | (InTurn & {
      readonly type: "compaction.finished";
      readonly outcome: "applied" | "skipped" | "failed";
      readonly tokensBefore: number;
      readonly tokensAfter: number;
      /** What made the room. */
      readonly by?: "summary" | "draft" | "cut";
      /** Why there is no summary. */
      readonly reason?: string;
    })
  /** No compaction brought the context under its threshold. Told once, until there is room again. Tokens. */
  | (InTurn & {
      readonly type: "context_near_limit";
      readonly used: number;
      readonly reserve: number;
      readonly window: number;
    })
  | (InTurn & { readonly type: "summary.failed"; readonly code: string })
  /** A long result could not be stored whole: the model has its beginning and end. */
  | (InTurn & { readonly type: "result.unkept"; readonly tool: string; readonly code: string })
  | (InTurn & {
      readonly type: "turn.ended";
      readonly outcome: "completed" | "awaiting" | "cancelled";
      readonly reason?: string;
      readonly steps: number;
      readonly ms: number;
      /** Time inside model and tool ports. */
      readonly portsMs: number;
    })
  | (InTurn & {
      readonly type: "turn.failed";
      readonly code: string;
      readonly retryable: boolean;
      readonly ms: number;
      readonly context: TurnContext;
      readonly error?: unknown;
    });

export type Observe = (event: RuntimeEvent) => void;

/** Writes each event as one log line and counts it. */
export function observer(log: Log, metrics: Metrics): Observe {
  return (event) => {
    count(event, metrics);
    if (event.type === "turn.failed") log.error(event.type, fields(event));
    else if (isWarning(event)) log.warn(event.type, fields(event));
    else log.info(event.type, fields(event));
  };
}

const isWarning = (event: RuntimeEvent): boolean =>
  event.type === "context_near_limit" ||
  event.type === "summary.failed" ||
  event.type === "result.unkept" ||
  (event.type === "compaction.finished" && event.outcome === "failed");

function count(event: RuntimeEvent, metrics: Metrics): void {
  switch (event.type) {
    case "session.thawed":
      metrics.thaw(event.outcome, event.ms / 1000);
      break;
    case "tool.finished":
      metrics.toolCall(event.tool, event.outcome);
      break;
    case "model.called":
      metrics.modelCall(event.profile, event.outcome);
      break;
    case "turn.ended":
      metrics.turnOverhead((event.ms - event.portsMs) / 1000);
      metrics.turnEnded(event.outcome);
      break;
    case "turn.failed":
      metrics.turnEnded("failed");
      break;
    case "session.hibernated":
    case "turn.started":
    case "skill.loaded":
    case "tool.called":
    case "attachment.unavailable":
    case "compaction.finished":
    case "context_near_limit":
    case "summary.failed":
    case "result.unkept":
      break;
    default:
      never(event);
  }
}

function fields(event: RuntimeEvent): LogFields {
  const session = { session_id: event.sessionId };
  const turn = "turnId" in event ? { ...session, turn_id: event.turnId } : session;
  switch (event.type) {
    case "session.thawed":
      return { ...turn, outcome: event.outcome, ms: event.ms };
    case "session.hibernated":
      return { ...turn, ms: event.ms };
    case "turn.started":
      return { ...turn, cause: event.cause };
    case "skill.loaded":
      return { ...turn, skill: event.skill, eager: event.eager };
    case "attachment.unavailable":
      return { ...turn, code: event.code };
    case "tool.called":
      return { ...turn, tool: event.tool, call_id: event.callId };
    case "tool.finished":
      return {
        ...turn,
        tool: event.tool,
        call_id: event.callId,
        outcome: event.outcome,
        ms: event.ms,
      };
    case "model.called":
      return {
        ...turn,
        profile: event.profile,
        step: event.step,
        outcome: event.outcome,
        ms: event.ms,
        ...(event.usage && { tokens_in: event.usage.input, tokens_out: event.usage.output }),
        ...(event.code !== undefined && { code: event.code }),
        ...(event.purpose !== undefined && { purpose: event.purpose }),
      };
    case "compaction.finished":
      return {
        ...turn,
        outcome: event.outcome,
        tokens_before: event.tokensBefore,
        tokens_after: event.tokensAfter,
        ...(event.by !== undefined && { by: event.by }),
        ...(event.reason !== undefined && { reason: event.reason }),
      };
    case "context_near_limit":
      return { ...turn, used: event.used, reserve: event.reserve, window: event.window };
    case "summary.failed":
      return { ...turn, code: event.code };
    case "result.unkept":
      return { ...turn, tool: event.tool, code: event.code };
    case "turn.ended":
      return {
        ...turn,
        outcome: event.outcome,
        steps: event.steps,
        ms: event.ms,
        ...(event.reason !== undefined && { reason: event.reason }),
      };
    case "turn.failed":
      return {
        ...turn,
        code: event.code,
        retryable: event.retryable,
        ms: event.ms,
        step: event.context.step,
        tools: event.context.tools,
        skills: event.context.skills,
        ...(event.context.profile !== undefined && { profile: event.context.profile }),
        ...(event.error !== undefined && { err: event.error }),
      };
    default:
      return never(event);
  }
}
