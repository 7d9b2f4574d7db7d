import { never } from "../failure.ts";
import type { ToolDeclaration } from "../model.ts";
import { contextXml } from "./context-xml.ts";
import type { AssistantPart, Entry } from "./entries.ts";

/** Words, numbers, scripts without spaces, emoji, line breaks and runs of signs: about what a tokenizer cuts by itself. */
const PIECE =
  /(?<word>[A-Za-z]+)|(?<digits>\p{Nd}+)|(?<kana>[\p{Script=Hiragana}\p{Script=Katakana}]+)|(?<dense>[\p{Script=Han}\p{Script=Hangul}\p{Script=Thai}]+)|(?<emoji>\p{Extended_Pictographic}|\p{Emoji_Modifier}|[\u200d\ufe0f])|(?<letters>[\p{L}\p{M}]+)|(?<breaks>\s*\n\s*|\s{2,})|(?<space>\s)|(?<signs>[^\s\p{L}\p{M}\p{Nd}\p{Extended_Pictographic}]+)|./suy;

const characters = (text: string): number => [...text].length;

const wordTokens = (length: number): number => (length <= 8 ? 1 : 1 + Math.ceil((length - 8) / 5));
const digitTokens = (length: number): number => Math.ceil(length / 2);
const signTokens = (length: number): number => Math.ceil(length / 3);

function pieceTokens({ word, digits, kana, dense, emoji, letters, breaks, signs }: Record<string, string | undefined>) {
  if (word !== undefined) return wordTokens(word.length);
  if (digits !== undefined) return digitTokens(digits.length);
  if (kana !== undefined) return characters(kana) * 0.9;
  if (dense !== undefined) return characters(dense) * 0.8;
  if (emoji !== undefined) return 1.5;
  if (letters !== undefined) return Math.max(1, letters.length / 3.5);
  if (signs !== undefined) return signTokens(signs.length);
  return breaks === undefined ? 0 : 1;
}

/** What a piece of ASCII is of; 0 beyond ASCII. */
const WORD = 1;
const DIGIT = 2;
const SPACE = 3;
const SIGN = 4;
const CLASSES = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/[A-Za-z]/.test(character)) return WORD;
  if (/[0-9]/.test(character)) return DIGIT;
  return /\s/.test(character) ? SPACE : SIGN;
});
const LINE_FEED = 10;

/**
 * Tokens of `text`: within about 15 % of what current tokenizers count for prose in many scripts, emoji, code and JSON
 * (measured; the factors are averages). Providers' own figures correct it per session.
 */
export function textTokens(text: string): number {
  let tokens = 0;
  let at = 0;
  while (at < text.length) {
    // A match of the expression makes an array and an object: plain ASCII, which most text is, goes without.
    const from = at;
    const kind = CLASSES[text.charCodeAt(at)] ?? 0;
    let isBroken = false;
    let next = kind;
    while (next === kind && kind !== 0) {
      isBroken ||= text.charCodeAt(at) === LINE_FEED;
      at += 1;
      next = at < text.length ? (CLASSES[text.charCodeAt(at)] ?? 0) : -1;
    }
    const length = at - from;
    if (kind === 0 || (next === 0 && kind !== WORD)) {
      // Signs, spaces and digits beyond ASCII belong to the run they follow.
      PIECE.lastIndex = from;
      const piece = PIECE.exec(text);
      at = PIECE.lastIndex;
      tokens += pieceTokens(piece?.groups ?? {});
    } else if (kind === WORD) tokens += wordTokens(length);
    else if (kind === DIGIT) tokens += digitTokens(length);
    else if (kind === SIGN) tokens += signTokens(length);
    else if (length > 1 || isBroken) tokens += 1;
  }
  return Math.ceil(tokens);
}

/** What a provider adds around each message and each part: roles, names of fields, separators. */
const PER_ENTRY = 4;
const PER_CALL = 8;
/** Providers count a replayed signature by the thinking behind it, which is shorter than its base64. */
const SIGNATURE_CHARACTERS_PER_TOKEN = 8;

function partTokens(part: AssistantPart): number {
  const signature = Math.ceil((part.signature?.length ?? 0) / SIGNATURE_CHARACTERS_PER_TOKEN);
  switch (part.kind) {
    case "text":
      return textTokens(part.text) + signature;
    case "reasoning": {
      const redacted = Math.ceil((part.redacted?.length ?? 0) / SIGNATURE_CHARACTERS_PER_TOKEN);
      return textTokens(part.text) + redacted + signature;
    }
    case "tool_call": {
      const { name, args, providerArgs } = part.call;
      return PER_CALL + textTokens(name) + textTokens(JSON.stringify(providerArgs ?? args ?? {})) + signature;
    }
    default:
      return never(part);
  }
}

/** Tokens of an entry as it is sent, its context block included; attachments count where their bytes are resolved. */
export function entryTokens(entry: Entry): number {
  switch (entry.kind) {
    case "user":
      return (
        PER_ENTRY +
        textTokens(entry.text) +
        textTokens(contextXml(entry.context) ?? "") +
        (entry.skills ?? []).reduce((sum, { body }) => sum + textTokens(body), 0)
      );
    case "assistant":
      return PER_ENTRY + entry.parts.reduce((sum, part) => sum + partTokens(part), 0);
    case "tool_result":
      return PER_CALL + textTokens(entry.name) + textTokens(entry.text);
    case "resolution":
      return PER_ENTRY + textTokens(contextXml(entry.context) ?? "") + textTokens(entry.text);
    case "action":
    case "summary":
      return PER_ENTRY + textTokens(entry.text);
    case "interaction":
      return 0;
    default:
      return never(entry);
  }
}

/** Tokens of the declarations that go with every call: names, descriptions and schemas. */
export function toolTokens(tools: readonly ToolDeclaration[]): number {
  return tools.reduce((sum, tool) => sum + PER_CALL + textTokens(tool.name) + describedTokens(tool), 0);
}

/** Schemas live as long as their tool's listing: each is counted once for its description. */
const counted = new WeakMap<object, { readonly description: string; readonly tokens: number }>();

function describedTokens({ description, inputSchema }: ToolDeclaration): number {
  const known = counted.get(inputSchema);
  if (known?.description === description) return known.tokens;
  const tokens = textTokens(description) + textTokens(JSON.stringify(inputSchema));
  counted.set(inputSchema, { description, tokens });
  return tokens;
}
