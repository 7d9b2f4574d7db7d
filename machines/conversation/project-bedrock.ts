import type {
  ContentBlock,
  InferenceConfiguration,
  Message,
  ReasoningContentBlock,
  SystemContentBlock,
  ToolConfiguration,
} from "@aws-sdk/client-bedrock-runtime";
import { never } from "../failure.ts";
import type { ModelRequest } from "../model.ts";
import { CACHE_POINT, withCachePoints } from "./bedrock-cache.ts";
import { callIds } from "./bedrock-ids.ts";
import { LONE_DOCUMENT, mediaBlocks } from "./bedrock-media.ts";
import { lost, type ReasoningLost, replayable } from "./bedrock-reasoning.ts";
import { continued } from "./continued.ts";
import type { AssistantEntry, Entry, Issuer, ToolCall } from "./entries.ts";
import { isObject, wellFormed } from "./json-values.ts";
import type { MediaByBlob } from "./media.ts";
import { sentName } from "./names.ts";
import { Alternation, type Answer, type Exchange, GO_ON } from "./repair.ts";
import { bedrockTools, inertTool } from "./schema-bedrock.ts";
import type { ToolLeftOut } from "./schema-gemini.ts";

/** The version that a manifest names. What this file makes of a history must not change under the same number. */
export const BEDROCK_PROJECTOR = 1;

/** How a Claude is told to think: older ones by a budget in tokens, newer ones decide for themselves. */
export type ThinkingStyle = "budget" | "adaptive";

export type BedrockProjection = {
  readonly projector: typeof BEDROCK_PROJECTOR;
  readonly system: readonly SystemContentBlock[];
  readonly messages: readonly Message[];
  readonly toolConfig?: ToolConfiguration;
  readonly inferenceConfig: InferenceConfiguration;
  readonly additionalModelRequestFields?: { readonly thinking: Thinking };
  readonly warnings: readonly (ToolLeftOut | ReasoningLost)[];
};

type Thinking = { readonly type: "enabled"; readonly budget_tokens: number } | { readonly type: "adaptive" };

/** What an assistant entry says, before it is known which reasoning may go along. */
type Piece = { readonly entry: AssistantEntry } & (
  | { readonly kind: "reasoning"; readonly block: ReasoningContentBlock }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "call"; readonly call: ToolCall }
);
type Turn = Exchange<Piece>;

const SMALLEST_BUDGET = 1_024;
const LARGEST_BUDGET = 16_000;

/** The service counts control characters among the blanks, too. */
const isVisible = (text: string): boolean => /[^\s\p{Cc}\ufffd]/u.test(text.toWellFormed());

/** Builds the request for Claude behind Converse. Only what `issuer` signed is replayed as reasoning. */
export function projectBedrock(
  request: ModelRequest,
  issuer: Issuer,
  style: ThinkingStyle = "budget",
): BedrockProjection {
  const { declarations, leftOut } = bedrockTools(request.tools);
  const route = routes.get(issuer) ?? routeOf(issuer);
  const turns = route.turns(route.exchanges.of(request.entries)).flat();
  const open = openStep(turns);
  const roomToThink = request.thinking && request.maxOutputTokens >= 2 * SMALLEST_BUDGET;
  const first = turns[open];
  // A step that goes on must have begun with reasoning, or go on without any.
  const thinks = roomToThink && (first?.role !== "model" || first.parts[0]?.kind === "reasoning");
  const sent = thinks ? turns : turns.map((turn, at) => (at >= open ? withoutReasoning(turn) : turn));
  const tools = declarations.length > 0 ? [...declarations, CACHE_POINT] : hasCalls(turns) ? [inertTool] : [];
  return {
    projector: BEDROCK_PROJECTOR,
    system: isVisible(request.system) ? [{ text: request.system.toWellFormed() }, CACHE_POINT] : [],
    messages: withCachePoints(messagesOf(sent, issuer, request.media)),
    ...(tools.length > 0 && { toolConfig: { tools } }),
    inferenceConfig: { maxTokens: request.maxOutputTokens },
    ...(thinks && { additionalModelRequestFields: { thinking: thinking(style, request.maxOutputTokens) } }),
    warnings: [
      ...leftOut,
      ...route.lost(request.entries).flat(),
      ...(thinks ? [] : turns.slice(open).flatMap(reasoningIn)),
    ],
  };
}

/** How the histories of one issuer are sent: what one request was made of is there for the next. */
type Route = {
  readonly exchanges: Alternation<Piece>;
  readonly turns: (exchanges: readonly Turn[]) => readonly (readonly Turn[])[];
  readonly lost: (entries: readonly Entry[]) => readonly (readonly ReasoningLost[])[];
};

const routes = new Map<Issuer, Route>();

function routeOf(issuer: Issuer): Route {
  const route: Route = {
    exchanges: new Alternation((entry) => piecesOf(entry, issuer)),
    turns: continued(apart),
    lost: continued((entry) => (entry.kind === "assistant" ? lostOf(entry, issuer) : [])),
  };
  routes.set(issuer, route);
  return route;
}

function thinking(style: ThinkingStyle, maxTokens: number): Thinking {
  if (style === "adaptive") return { type: "adaptive" };
  const budget = Math.min(LARGEST_BUDGET, Math.floor(maxTokens / 2));
  return { type: "enabled", budget_tokens: Math.max(SMALLEST_BUDGET, budget) };
}

/** Parts in their order where the provider takes it; else reasoning first. Nothing blank, no reasoning by itself. */
function piecesOf(entry: AssistantEntry, issuer: Issuer): readonly Piece[] {
  const pieces = entry.parts.flatMap((part): readonly Piece[] => {
    switch (part.kind) {
      case "text":
        return isVisible(part.text) ? [{ entry, kind: "text", text: part.text.toWellFormed() }] : [];
      case "reasoning": {
        const block = replayable(part, entry, issuer);
        return typeof block === "object" ? [{ entry, kind: "reasoning", block }] : [];
      }
      case "tool_call":
        return [{ entry, kind: "call", call: part.call }];
      default:
        return never(part);
    }
  });
  const reasoning = pieces.filter(({ kind }) => kind === "reasoning");
  const rest = pieces.filter(({ kind }) => kind !== "reasoning");
  if (rest.length === 0) return [];
  const last = pieces.findLastIndex(({ kind }) => kind === "reasoning");
  const call = pieces.findIndex(({ kind }) => kind === "call");
  const asMade = pieces[0]?.kind === "reasoning" && last < (call < 0 ? pieces.length - 1 : call);
  return asMade ? pieces : [...reasoning, ...rest];
}

function lostOf(entry: AssistantEntry, issuer: Issuer): readonly ReasoningLost[] {
  const alone = piecesOf(entry, issuer).length === 0;
  return entry.parts.flatMap((part) => {
    const found = part.kind === "reasoning" ? replayable(part, entry, issuer) : undefined;
    if (found === undefined || (typeof found === "object" && !alone)) return [];
    return [lost(entry, typeof found === "object" ? "alone" : found)];
  });
}

/** Entries that stand side by side are one message, unless one of them brings reasoning: it stays with its own answer. */
function apart(turn: Turn): readonly Turn[] {
  if (turn.role === "user" || !turn.parts.some(({ kind }) => kind === "reasoning")) return [turn];
  const groups: Piece[][] = [];
  for (const piece of turn.parts) {
    const last = groups.at(-1);
    if (last?.[0]?.entry === piece.entry) last.push(piece);
    else groups.push([piece]);
  }
  return groups.flatMap((parts, at): readonly Turn[] => [
    ...(at === 0 ? [] : [{ role: "user", answers: [], texts: [GO_ON] } as const]),
    { role: "model", parts },
  ]);
}

/** Where the step that this request goes on with began: the place after the last user message that answers no call. */
function openStep(turns: readonly Turn[]): number {
  return turns.findLastIndex((turn) => turn.role === "user" && turn.answers.length === 0) + 1;
}

const withoutReasoning = (turn: Turn): Turn =>
  turn.role === "user" ? turn : { ...turn, parts: turn.parts.filter(({ kind }) => kind !== "reasoning") };

const reasoningIn = (turn: Turn): readonly ReasoningLost[] =>
  turn.role === "user"
    ? []
    : turn.parts.flatMap(({ kind, entry }) => (kind === "reasoning" ? [lost(entry, "thinking_off")] : []));

const hasCalls = (turns: readonly Turn[]): boolean =>
  turns.some((turn) => turn.role === "model" && turn.parts.some(({ kind }) => kind === "call"));

function messagesOf(turns: readonly Turn[], issuer: Issuer, media: MediaByBlob | undefined): readonly Message[] {
  const idOf = callIds();
  const fileAt = mediaBlocks(turns, media);
  let asked: readonly string[] = [];
  return turns.map((turn, place): Message => {
    switch (turn.role) {
      case "model": {
        const blocks = turn.parts.map((piece) => blockOf(piece, (call) => idOf(call, piece.entry.issuer === issuer)));
        asked = blocks.flatMap(({ toolUse }) => toolUse?.toolUseId ?? []);
        return { role: "assistant", content: blocks };
      }
      case "user": {
        const results = turn.answers.map((answer, at) => resultOf(answer, asked[at] ?? ""));
        const said = turn.texts.flatMap((text, at) => fileAt(place, at) ?? textBlocks(text));
        const wordless = said.some(({ document }) => document) && !said.some(({ text }) => text);
        const content = [...results, ...said, ...(wordless ? [{ text: LONE_DOCUMENT }] : [])];
        return { role: "user", content: content.length > 0 ? content : [{ text: GO_ON }] };
      }
      default:
        return never(turn);
    }
  });
}

const textBlocks = (text: string): readonly ContentBlock[] => (isVisible(text) ? [{ text: text.toWellFormed() }] : []);

function blockOf(piece: Piece, idOf: (call: ToolCall) => string): ContentBlock {
  switch (piece.kind) {
    case "reasoning":
      return { reasoningContent: piece.block };
    case "text":
      return { text: piece.text };
    case "call": {
      const { call } = piece;
      return { toolUse: { toolUseId: idOf(call), name: sentName(call.name), input: inputOf(call.args) as never } };
    }
    default:
      return never(piece);
  }
}

/** Claude takes an object only; a call that arrived with anything else stays readable. */
function inputOf(args: unknown): unknown {
  const given = wellFormed(args);
  return isObject(given) ? given : given === undefined || given === null ? {} : { value: given };
}

function resultOf({ outcome, text }: Answer, toolUseId: string): ContentBlock {
  const told = isVisible(text)
    ? text.toWellFormed()
    : outcome === "ok"
      ? "[The result is empty.]"
      : `outcome: ${outcome}`;
  return { toolResult: { toolUseId, content: [{ text: told }], status: outcome === "ok" ? "success" : "error" } };
}
