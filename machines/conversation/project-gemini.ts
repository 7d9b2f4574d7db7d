import type { Content, FunctionCall, GenerateContentConfig, Part, Tool } from "@google/genai";
import { never } from "../failure.ts";
import type { TurnId } from "../ids.ts";
import type { ModelRequest } from "../model.ts";
import { continued } from "./continued.ts";
import type { AssistantEntry, AssistantPart, Entry, Issuer, ToolCall } from "./entries.ts";
import { isObject, type JsonObject, wellFormed } from "./json-values.ts";
import type { MediaByBlob } from "./media.ts";
import { sentName } from "./names.ts";
import { Alternation, type Answer, type Exchange, hasText, type PlacedMedia } from "./repair.ts";
import { geminiTools, type ToolLeftOut } from "./schema-gemini.ts";

/** The version that a manifest names. What this file makes of a history must not change under the same number. */
export const GEMINI_PROJECTOR = 1;

/** Google's documented stand-in for the signature of a call that no Gemini made. */
export const SKIP_SIGNATURE = "skip_thought_signature_validator";

/** Reasoning of the same issuer that could not be replayed: to be told as the event `reasoning_dropped`. */
export type ReasoningDropped = {
  readonly kind: "reasoning_dropped";
  readonly turnId: TurnId;
  readonly step: number;
  readonly reason: "redacted";
};

export type GeminiProjection = {
  readonly projector: typeof GEMINI_PROJECTOR;
  readonly systemInstruction?: Content;
  readonly contents: readonly Content[];
  readonly tools?: readonly Tool[];
  readonly generation: Pick<GenerateContentConfig, "maxOutputTokens" | "thinkingConfig">;
  readonly warnings: readonly (ToolLeftOut | ReasoningDropped)[];
};

/** Builds the request for a Gemini route. `issuer` is that route's kind: only what it signed keeps its signatures. */
export function projectGemini(request: ModelRequest, issuer: Issuer): GeminiProjection {
  const { declarations, leftOut } = geminiTools(request.tools);
  const route = routes.get(issuer) ?? routeOf(issuer);
  const exchanges = route.exchanges.of(request.entries);
  return {
    projector: GEMINI_PROJECTOR,
    ...(hasText(request.system) && {
      systemInstruction: { role: "user", parts: [{ text: request.system.toWellFormed() }] },
    }),
    contents: withMedia(route.contents(exchanges), exchanges, issuer, request.media),
    ...(declarations.length > 0 && { tools: [{ functionDeclarations: declarations }] }),
    generation: {
      maxOutputTokens: request.maxOutputTokens,
      ...(request.thinking && { thinkingConfig: { includeThoughts: true } }),
    },
    warnings: [...leftOut, ...found(route.dropped(request.entries))],
  };
}

/** How the histories of one issuer are sent: a request begins with the same objects as the one before it. */
type Route = {
  readonly exchanges: Alternation<Part>;
  /** Without bytes: a marker stands for each file. */
  readonly contents: (exchanges: readonly Exchange<Part>[]) => readonly Content[];
  readonly dropped: (entries: readonly Entry[]) => readonly (readonly ReasoningDropped[])[];
};

const routes = new Map<Issuer, Route>();

function routeOf(issuer: Issuer): Route {
  const route: Route = {
    exchanges: new Alternation((entry) => modelParts(entry, issuer)),
    contents: continued((exchange) => contentOf(exchange, issuer)),
    dropped: continued((entry) => dropped(entry, issuer)),
  };
  routes.set(issuer, route);
  return route;
}

/** Bytes are there for one request only: where they go, a content is made for it. */
function withMedia(
  contents: readonly Content[],
  exchanges: readonly Exchange<Part>[],
  issuer: Issuer,
  media: MediaByBlob | undefined,
): readonly Content[] {
  if (media === undefined) return contents;
  return contents.map((content, at) => {
    const exchange = exchanges[at];
    return exchange?.role === "user" && exchange.media ? contentOf(exchange, issuer, media) : content;
  });
}

function contentOf(exchange: Exchange<Part>, issuer: Issuer, media?: MediaByBlob): Content {
  switch (exchange.role) {
    case "model":
      return { role: "model", parts: withFirstCallSigned(exchange.parts) };
    case "user":
      return {
        role: "user",
        parts: [
          ...exchange.answers.map((answer) => responsePart(answer, answer.issuer === issuer)),
          ...exchange.texts.map((text, at) => mediaPart(at, exchange.media, media) ?? textPart(text)),
        ],
      };
    default:
      return never(exchange);
  }
}

const textPart = (text: string): Part => ({ text: text.toWellFormed() });

/** What Gemini takes inline; of anything else only the marker is sent. */
const INLINE = new Set(["image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"]);

/** The bytes that stand for the marker at this place, if they were fetched. */
function mediaPart(at: number, placed: readonly PlacedMedia[] = [], media?: MediaByBlob): Part | undefined {
  const here = placed.find((one) => one.at === at);
  const found = here && media?.get(here.blobId);
  if (found === undefined || !INLINE.has(found.mime)) return undefined;
  return { inlineData: { mimeType: found.mime, data: Buffer.from(found.bytes).toString("base64") } };
}

const NOTHING: readonly never[] = [];

/** Most entries dropped nothing: those cost a look each. */
function found<T>(lists: readonly (readonly T[])[]): readonly T[] {
  const all: T[] = [];
  for (const list of lists) if (list.length > 0) all.push(...list);
  return all;
}

function dropped(entry: Entry, issuer: Issuer): readonly ReasoningDropped[] {
  if (entry.kind !== "assistant" || entry.issuer !== issuer) return NOTHING;
  const lost = entry.parts.filter((part) => part.kind === "reasoning" && part.redacted !== undefined);
  if (lost.length === 0) return NOTHING;
  const { turnId, step } = entry;
  return lost.map(() => ({ kind: "reasoning_dropped", turnId, step, reason: "redacted" }));
}

function modelParts(entry: AssistantEntry, issuer: Issuer): readonly Part[] {
  const own = entry.issuer === issuer;
  // A text signature may vouch for the whole answer: then even its blank parts stay.
  const whole = own && entry.parts.some((part) => part.kind === "text" && part.signature !== undefined);
  return entry.parts.flatMap((part) => modelPart(part, own, whole));
}

function modelPart(part: AssistantPart, own: boolean, whole: boolean): readonly Part[] {
  const signed = own && part.signature !== undefined ? { thoughtSignature: part.signature } : undefined;
  switch (part.kind) {
    case "text":
      if (signed === undefined && (whole ? part.text === "" : !hasText(part.text))) return [];
      return [{ text: part.text.toWellFormed(), ...signed }];
    case "reasoning":
      if (!own || part.redacted !== undefined || (signed === undefined && !hasText(part.text))) return [];
      return [{ text: part.text.toWellFormed(), thought: true, ...signed }];
    case "tool_call":
      return [{ functionCall: callOf(part.call, own), ...signed }];
    default:
      return never(part);
  }
}

function callOf(call: ToolCall, own: boolean): FunctionCall {
  const args = wellFormed(own ? (call.providerArgs ?? call.args) : call.args);
  return { ...idOf(call, own), name: sentName(call.name), args: argsObject(args) };
}

/** Gemini takes an object only; a call that arrived with anything else stays readable. */
function argsObject(args: unknown): Record<string, unknown> {
  return isObject(args) ? (args satisfies JsonObject) : args === undefined || args === null ? {} : { value: args };
}

const idOf = (call: ToolCall, own: boolean): { id?: string } =>
  own && call.providerId !== undefined ? { id: call.providerId } : {};

/** The first call of a step must prove its origin; the others never carry anything made up. */
function withFirstCallSigned(parts: readonly Part[]): Part[] {
  const first = parts.findIndex((part) => part.functionCall !== undefined);
  return parts.map((part, at) =>
    at === first && part.thoughtSignature === undefined ? { ...part, thoughtSignature: SKIP_SIGNATURE } : part,
  );
}

function responsePart({ call, outcome, text }: Answer, own: boolean): Part {
  const told = text.toWellFormed();
  const response = outcome === "ok" ? { output: told } : { error: hasText(told) ? told : `outcome: ${outcome}` };
  return { functionResponse: { ...idOf(call, own), name: sentName(call.name), response } };
}
