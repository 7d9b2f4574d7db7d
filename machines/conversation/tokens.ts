import { never } from "../failure.ts";
import type { ToolDeclaration } from "../model.ts";
import { contextXml } from "./context-xml.ts";
import type { AssistantPart, Entry } from "./entries.ts";

/** Words, numbers, scripts without spaces, emoji, line breaks and runs of signs: about what a tokenizer cuts by itself. */
const PIECES =
  /(?<word>[A-Za-z]+)|(?<digits>\p{Nd}+)|(?<kana>[\p{Script=Hiragana}\p{Script=Katakana}]+)|(?<dense>[\p{Script=Han}\p{Script=Hangul}\p{Script=Thai}]+)|(?<emoji>\p{Extended_Pictographic}|\p{Emoji_Modifier}|[\u200d\ufe0f])|(?<letters>[\p{L}\p{M}]+)|(?<breaks>\s*\n\s*|\s{2,})|(?<space>\s)|(?<signs>[^\s\p{L}\p{M}\p{Nd}\p{Extended_Pictographic}]+)/gu;

const characters = (text: string): number => [...text].length;

/**
 * Tokens of `text`: within about 15 % of what current tokenizers count for prose in many scripts, emoji, code and JSON
 * (measured; the factors are averages). Providers' own figures correct it per session.
 */
export function textTokens(text: string): number {
  let tokens = 0;
  for (const { groups = {} } of text.matchAll(PIECES)) {
    const { word, digits, kana, dense, emoji, letters, breaks, signs } = groups;
    if (word !== undefined) tokens += word.length <= 8 ? 1 : 1 + Math.ceil((word.length - 8) / 5);
    else if (digits !== undefined) tokens += Math.ceil(digits.length / 2);
    else if (kana !== undefined) tokens += characters(kana) * 0.9;
    else if (dense !== undefined) tokens += characters(dense) * 0.8;
    else if (emoji !== undefined) tokens += 1.5;
    else if (letters !== undefined) tokens += Math.max(1, letters.length / 3.5);
    else if (signs !== undefined) tokens += Math.ceil(signs.length / 3);
    else if (breaks !== undefined) tokens += 1;
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
