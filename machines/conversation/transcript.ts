import { never } from "../failure.ts";
import type { CallId } from "../ids.ts";
import type { AssistantPart, Entry, ToolCall } from "./entries.ts";
import { alternate, EARLIER, type Exchange, GO_ON } from "./repair.ts";
import { shortText, shortValue } from "./shorten.ts";
import { textTokens } from "./tokens.ts";

/** A part of a conversation as plain text, small enough for one request of the summariser. */
export type Piece = { readonly text: string; readonly tokens: number };
export type Transcript = {
  readonly pieces: readonly Piece[];
  /** Calls whose result is not told in full. */
  readonly clipped: readonly CallId[];
};

/** One result may take this much of a piece, so that a single one never fills it. */
const RESULT_SHARE = 0.25;
const ARGUMENT_CHARACTERS = 1_000;
/** Of prose. A text of denser script is still long then; it is spread over pieces. */
const CHARACTERS_PER_TOKEN = 4;
/** Tokens between two texts of a piece. */
const JOINT = 2;

type Line = { readonly text: string; readonly callId?: CallId; readonly isClipped?: boolean };

/**
 * The repaired conversation as plain text in pieces of at most `room` tokens each: no tools, no signatures, no bytes,
 * so it is a valid request for every provider. Long results are shortened and named in `clipped`; everything else is
 * there in full, spread over as many pieces as it takes.
 */
export function transcript(entries: readonly Entry[], room: number): Transcript {
  const most = Math.max(200, Math.floor(room * RESULT_SHARE * CHARACTERS_PER_TOKEN));
  const exchanges = alternate(
    entries.filter((entry) => entry.kind !== "summary"),
    ({ parts }) => parts.flatMap(wordsOf),
  );
  const lines = exchanges.flatMap((exchange) => linesOf(exchange, most));
  const clipped = lines.flatMap(({ callId, isClipped }) => (isClipped && callId !== undefined ? [callId] : []));
  return {
    pieces: packed(
      lines.flatMap(({ text }) => split(text, room - JOINT)),
      room,
    ),
    clipped,
  };
}

function wordsOf(part: AssistantPart): readonly string[] {
  switch (part.kind) {
    case "text":
      return part.text.trim() === "" ? [] : [`Assistant: ${part.text.trim()}`];
    case "reasoning":
      return [];
    case "tool_call":
      return [`Assistant called ${part.call.name} with ${argumentsOf(part.call)}`];
    default:
      return never(part);
  }
}

const argumentsOf = ({ args }: ToolCall): string => JSON.stringify(shortValue(args, ARGUMENT_CHARACTERS)) ?? "{}";

function linesOf(exchange: Exchange<string>, most: number): readonly Line[] {
  if (exchange.role === "model") return exchange.parts.map((text) => ({ text }));
  const results = exchange.answers.map(({ call, outcome, text }): Line => {
    const told = shortText(text, most);
    return { text: `Result of ${call.name} (${outcome}): ${told}`, callId: call.callId, isClipped: told !== text };
  });
  const said = exchange.texts.filter((text) => text !== EARLIER && text !== GO_ON);
  return [...results, ...said.map((text) => ({ text: `User: ${text}` }))];
}

/** A text that no piece can hold, as several that one can. */
function split(text: string, room: number): readonly string[] {
  if (textTokens(text) <= room) return [text];
  const half = Math.ceil(text.length / 2);
  const at = text.charCodeAt(half - 1) >= 0xd800 && text.charCodeAt(half - 1) <= 0xdbff ? half + 1 : half;
  return text.length < 2 ? [text] : [...split(text.slice(0, at), room), ...split(text.slice(at), room)];
}

function packed(texts: readonly string[], room: number): readonly Piece[] {
  const pieces: Piece[] = [];
  for (const text of texts) {
    const tokens = textTokens(text) + JOINT;
    const last = pieces.at(-1);
    if (last !== undefined && last.tokens + tokens <= room) {
      pieces[pieces.length - 1] = { text: `${last.text}\n\n${text}`, tokens: last.tokens + tokens };
    } else pieces.push({ text, tokens });
  }
  return pieces;
}
