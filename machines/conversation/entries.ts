import type { BlobId, BlockId, CallId, CommandId, InteractionId, TurnId } from "../ids.ts";
import type { CardSignal } from "../protocol/cards.ts";
import type { Resolution } from "../protocol/commands.ts";
import type { PendingInteraction } from "../protocol/interactions.ts";

/**
 * The route kind that signed a piece of reasoning. Never a display name, a gateway label or a URL:
 * signatures replay only to the issuer that made them (DESIGN §5).
 */
export type Issuer = "gemini-api" | "vertex" | "bedrock-claude" | "scripted";

/** What is open on the user's screen. Lives with the user entry, so that a replay sees what the model saw. */
export type ContextSignals = {
  readonly patient?: { readonly id: string; readonly name?: string };
  readonly plan?: { readonly id: string; readonly outline?: string };
  readonly page?: { readonly url?: string; readonly title?: string };
  readonly preferences?: Readonly<Record<string, unknown>>;
};

/** A call of a tool, as the model made it. `args` is what the tool gets; `broken` says why it must not run. */
export type ToolCall = {
  readonly callId: CallId;
  /** The tool's own name, not the name a provider was given for it. */
  readonly name: string;
  readonly args: unknown;
  /** The id the provider gave the call, echoed back to that provider only. */
  readonly providerId?: string;
  /** The arguments as the provider wrote them, where its schema had to differ from the tool's: replayed to it unchanged. */
  readonly providerArgs?: unknown;
  readonly broken?: "truncated" | "invalid_json";
};

/**
 * A provider-neutral part of an assistant entry. `signature` is opaque and stays, byte-identical, on the part that
 * carried it; it belongs to the entry's issuer.
 */
export type AssistantPart =
  | { readonly kind: "text"; readonly text: string; readonly signature?: string }
  | { readonly kind: "reasoning"; readonly text: string; readonly signature?: string; readonly redacted?: string }
  | { readonly kind: "tool_call"; readonly call: ToolCall; readonly signature?: string };

export type ToolOutcome = "ok" | "error" | "cancelled" | "unknown";

/** A file of the user's, as history names it: its bytes are fetched for a model call and for nothing else. */
export type Attachment = {
  readonly blobId: BlobId;
  readonly mime: string;
  readonly bytes: number;
  /** What a model is charged for it, estimated from its content. */
  readonly tokens?: number;
};

export type UserEntry = {
  readonly kind: "user";
  readonly turnId: TurnId;
  readonly text: string;
  readonly context?: ContextSignals;
  readonly entryPoint?: string;
  /** Skills that the entry point loaded before the first model call; read before the user's text. */
  readonly skills?: readonly { readonly name: string; readonly body: string }[];
  readonly attachments?: readonly Attachment[];
};

export type AssistantEntry = {
  readonly kind: "assistant";
  readonly turnId: TurnId;
  /** 1 for the first model call of the turn. */
  readonly step: number;
  readonly issuer: Issuer;
  readonly profile: string;
  readonly parts: readonly AssistantPart[];
  /** The answer was cut by the output limit, or by a cancel. */
  readonly truncated?: boolean;
  /** Corrects the estimates of this session from here on. */
  readonly measured?: Measure;
};

export type ToolResultEntry = {
  readonly kind: "tool_result";
  readonly turnId: TurnId;
  readonly callId: CallId;
  readonly name: string;
  readonly outcome: ToolOutcome;
  /** What the model reads. Bounded before it gets here. */
  readonly text: string;
  /** The card that was shown with it, so that a turn taken over shows it again. */
  readonly card?: CardSignal;
  /** The call named a tool that does not exist for this principal. */
  readonly unknownTool?: true;
  /** The skill whose body this result is. */
  readonly skill?: string;
};

/** Texts of the entries at `from` and later but before `before` that are sent with `characters` at most. */
export type Shortening = {
  readonly from: number;
  readonly before: number;
  readonly characters: number;
  /** The arguments of calls too, not the results alone. */
  readonly args: boolean;
};

/**
 * Stands, first of all, for the history before `to`. It is appended while a turn runs, so it lies behind the entries
 * that it leaves as they are.
 */
export type SummaryEntry = {
  readonly kind: "summary";
  readonly turnId: TurnId;
  /** Empty when turns had to be left out before anything could be summed up. */
  readonly text: string;
  /** What this summary replaces, from here up to `to`; the summary before it is folded in. */
  readonly from: number;
  readonly to: number;
  /** SHA-256 of what it replaces. */
  readonly digest?: string;
  /** Who made it, and in how many calls; none: turns were left out by rule, because the request had to fit. */
  readonly passes?: number;
  readonly profile?: string;
  /** Whole turns that no summary covers, all told. */
  readonly omitted?: number;
  /** Calls whose results were too long to be summed up in full. */
  readonly clipped?: readonly CallId[];
  readonly shortened?: readonly Shortening[];
};

/** A model call as its provider measured it, and what it was taken for before. */
export type Measure = { readonly input: number; readonly output: number; readonly estimated: number };

/** A question or proposal that ended its turn, whole: what is open can be rebuilt from it. */
export type InteractionEntry = {
  readonly kind: "interaction";
  readonly turnId: TurnId;
  readonly interactionId: InteractionId;
  readonly callId: CallId;
  readonly pending: PendingInteraction;
};

/** How an interaction ended. It belongs to the turn that follows, or to its own when that was cut short. */
export type ResolutionEntry = {
  readonly kind: "resolution";
  readonly turnId: TurnId;
  readonly interactionId: InteractionId;
  readonly by: "user" | "superseded" | "expired";
  /** What the user gave; absent when nobody answered. */
  readonly resolution?: Resolution;
  /** What the model reads. */
  readonly text: string;
  /** What the answer put on the screen: the patient that was picked. */
  readonly context?: ContextSignals;
};

/** What the system did for the user without a model call: a card's button, or the plan of an accepted proposal. */
export type ActionEntry = {
  readonly kind: "action";
  readonly turnId: TurnId;
  readonly commandId: CommandId;
  /** The card whose button it was. */
  readonly blockId?: BlockId;
  /** What the model reads. */
  readonly text: string;
  /** The card that was shown with it. */
  readonly card?: CardSignal;
};

/** One item of the append-only history. Plain JSON: it is stored, sealed and replayed as it is. */
export type Entry =
  | UserEntry
  | AssistantEntry
  | ToolResultEntry
  | InteractionEntry
  | ResolutionEntry
  | ActionEntry
  | SummaryEntry;

/** An entry at its place. `tokens` is the estimate made when it was appended. */
export type PlacedEntry = { readonly pos: number; readonly tokens: number; readonly entry: Entry };

export function callsOf(entry: Entry): readonly ToolCall[] {
  if (entry.kind !== "assistant") return [];
  return entry.parts.flatMap((part) => (part.kind === "tool_call" ? [part.call] : []));
}

/**
 * Calls of the last assistant entry that have no result yet. Only entries after it count as answers:
 * a provider may use the same call id again in a later step.
 */
export function openCalls(entries: readonly Entry[]): readonly ToolCall[] {
  const at = entries.findLastIndex((entry) => entry.kind === "assistant");
  const last = entries[at];
  if (last === undefined) return [];
  const answered = new Set(entries.slice(at + 1).flatMap((e) => (e.kind === "tool_result" ? [e.callId] : [])));
  return callsOf(last).filter((call) => !answered.has(call.callId));
}
