/**
 * What an AG-UI client is sent, in the forms of protocol version 1.0 that this server uses. The package that defines
 * them is needed by the tests only, which check every event against its schemas.
 */
export const PROTOCOL_VERSION = "1.0";

export type FunctionCall = {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
};

/** A message of the conversation as AG-UI clients hold it. Those of the client itself pass through as they came. */
export type Message =
  | { readonly id: string; readonly role: "assistant"; readonly content: string }
  | { readonly id: string; readonly role: "assistant"; readonly toolCalls: readonly FunctionCall[] }
  | { readonly id: string; readonly role: "tool"; readonly toolCallId: string; readonly content: string }
  | { readonly id: string; readonly role: "reasoning"; readonly content: string };
export type ForeignMessage = Readonly<Record<string, unknown>> & { readonly id: string; readonly role: string };

/** A question or proposal that ended a run. `id` is what `resume` has to name. */
export type Interrupt = {
  readonly id: string;
  readonly reason: string;
  readonly message: string;
  readonly responseSchema: Readonly<Record<string, unknown>>;
  readonly expiresAt?: string;
  readonly metadata: Readonly<Record<string, unknown>>;
};

export type Outcome =
  | { readonly type: "success"; readonly pendingToolCallIds: readonly string[] }
  | { readonly type: "interrupt"; readonly interrupts: readonly Interrupt[] }
  | { readonly type: "cancelled" };

export type TokenUsage = {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  readonly reasoningTokens: number;
  readonly cachedInputTokens: number;
};

type Run = { readonly threadId: string; readonly runId: string };
type OfMessage = { readonly messageId: string };
type OfSubagent = { readonly subagentRunId: string };

type Untimed =
  | ({ readonly type: "RUN_STARTED"; readonly protocolVersion: string } & Run)
  | ({
      readonly type: "RUN_FINISHED";
      readonly outcome: Outcome;
      readonly result?: unknown;
      readonly usage?: readonly TokenUsage[];
    } & Run)
  | { readonly type: "RUN_ERROR"; readonly message: string; readonly code: string }
  | { readonly type: "STEP_STARTED" | "STEP_FINISHED"; readonly stepName: string }
  | ({ readonly type: "TEXT_MESSAGE_START"; readonly role: "assistant" } & OfMessage)
  | ({ readonly type: "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT"; readonly delta: string } & OfMessage)
  | ({ readonly type: "TEXT_MESSAGE_END" | "REASONING_MESSAGE_END" } & OfMessage)
  | ({ readonly type: "REASONING_START" | "REASONING_END" } & OfMessage)
  | ({ readonly type: "REASONING_MESSAGE_START"; readonly role: "reasoning" } & OfMessage)
  | {
      readonly type: "TOOL_CALL_START";
      readonly toolCallId: string;
      readonly toolCallName: string;
      readonly parentMessageId: string;
    }
  | { readonly type: "TOOL_CALL_END"; readonly toolCallId: string }
  | ({
      readonly type: "TOOL_CALL_RESULT";
      readonly toolCallId: string;
      readonly content: string;
      readonly role: "tool";
    } & OfMessage)
  | ({ readonly type: "SUBAGENT_STARTED"; readonly name: string; readonly description?: string } & OfSubagent)
  | ({ readonly type: "SUBAGENT_FINISHED" } & OfSubagent)
  | ({ readonly type: "SUBAGENT_ERROR"; readonly message: string } & OfSubagent)
  | { readonly type: "STATE_SNAPSHOT"; readonly snapshot: unknown }
  | { readonly type: "MESSAGES_SNAPSHOT"; readonly messages: readonly (Message | ForeignMessage)[] }
  | { readonly type: "CUSTOM"; readonly name: string; readonly value: unknown };

/** `timestamp`: milliseconds since the epoch, of the signal an event was made from. */
export type AguiEvent = Untimed & { readonly timestamp?: number };
