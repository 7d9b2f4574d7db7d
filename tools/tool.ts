import type { AskedInteraction } from "../machines/conversation/interactions.ts";
import type { CallId, InteractionId, SessionId, TurnId } from "../machines/ids.ts";
import type { ToolDeclaration } from "../machines/model.ts";
import type { Credential, Principal } from "../machines/principal.ts";
import type { CardSignal } from "../machines/protocol/signals.ts";

/** What recovery depends on: from the tool's MCP annotations, or declared by a builtin. */
export type ToolTraits = {
  readonly readOnly: boolean;
  /** Safe to send again after a crash under the same idempotency key. */
  readonly repeatable: boolean;
};

/** How far a running call says it is: `progress` of `total`, in units of its own. For people; never a part of the history. */
export type ToolProgress = { readonly progress: number; readonly total?: number; readonly message?: string };

/** How a sub-agent of a running call stands: its kind, and words for people. For people; never a part of the history. */
export type SubagentNews =
  | { readonly kind: "started" | "progress"; readonly subagent: string; readonly label?: string }
  /** `outcome`: `ok`, or the code of why there is no result. */
  | { readonly kind: "finished"; readonly subagent: string; readonly outcome: string };

/** What a running tool knows of its call. */
export type ToolContext = {
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  readonly callId: CallId;
  readonly principal: Principal;
  readonly credential: Credential;
  /** `<session>.<turn>.<call>`: stable over restarts. Sent with every call that is not read-only. */
  readonly idempotencyKey: string;
  /**
   * Skills whose body is in the context that is sent now. One set for all calls of a step: `load_skill` adds to it, so that the same
   * skill twice in one answer gives its body once.
   */
  readonly loadedSkills: Set<string>;
  /** Calls another tool of this principal, without a history entry of its own (a card looking its data up). */
  readonly call: (name: string, args: unknown) => Promise<ToolAnswer>;
  /** May be called at any rate; left out: nobody watches. */
  readonly onProgress?: (progress: ToolProgress) => void;
  /** As `onProgress`, for the sub-agent that works for this call. */
  readonly onSubagent?: (news: SubagentNews) => void;
};

/**
 * How a call ended. `text` goes to the model, bounded; `card` to the client; `data` is the structured result for
 * other tools. `auth` means the login is dead: no further call of this turn leaves with it.
 */
export type ToolAnswer =
  | {
      readonly kind: "ok";
      readonly text: string;
      readonly data?: unknown;
      /** The text before it was bounded, where it had to be: kept, so that the model can read the rest of it. */
      readonly full?: string;
      readonly card?: CardSignal;
      readonly skillLoaded?: string;
    }
  | {
      readonly kind: "error";
      readonly text: string;
      readonly reason: "invalid_arguments" | "unknown_tool" | "tool" | "protocol" | "unavailable" | "timeout" | "auth";
      /** The call may have had its effect all the same (a write that timed out). */
      readonly mayHaveHappened?: boolean;
    };

/** An answer, or the end of the turn: a person is asked, and what they say begins a turn of its own. One a turn. */
export type ToolResult =
  | ToolAnswer
  | {
      readonly kind: "pause";
      readonly asked: AskedInteraction;
      /** The earlier proposal of this session that this one replaces: it keeps that one's id, under the next revision. */
      readonly revises?: InteractionId;
    };

/** One tool that is enabled for one principal now. */
export interface Tool extends ToolDeclaration {
  readonly title: string;
  readonly traits: ToolTraits;
  /** Never throws for what the tool's world does; throws only when `signal` aborted. */
  run(args: unknown, context: ToolContext, signal: AbortSignal): Promise<ToolResult>;
}

/** The tools of one principal now. Disabled means absent. */
export interface Toolbox {
  readonly tools: readonly Tool[];
  find(name: string): Tool | undefined;
}
