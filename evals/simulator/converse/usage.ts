import { createHash } from "node:crypto";
import { mediaTokens } from "../../../machines/conversation/media-estimate.ts";
import { isMediaType } from "../../../machines/protocol/uploads.ts";
import { canonical } from "../canonical.ts";
import { type ConverseBlock, type ConverseRequest, MIME_TYPES } from "./wire.ts";

export type ConverseUsage = {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  readonly cacheReadInputTokens: number;
  readonly cacheWriteInputTokens: number;
};

/** The simulator's measure: four characters are one token. */
export const tokensIn = (text: string): number => Math.ceil(text.length / 4);

/** Remembers prefixes that ended in a cache point, as the real service does for a few minutes. */
export type PromptCache = {
  /** How the prompt's tokens fall into read from the cache, written to it, and neither. */
  charge(request: ConverseRequest): { readonly read: number; readonly written: number; readonly plain: number };
};

const KEPT = 500;

export function promptCache(): PromptCache {
  const known = new Set<string>();
  return {
    charge(request) {
      const { prefixes, total } = prefixesOf(request);
      const read = prefixes.findLast(({ key }) => known.has(key))?.tokens ?? 0;
      const written = (prefixes.at(-1)?.tokens ?? read) - read;
      for (const { key } of prefixes) known.add(key);
      for (const key of known) {
        if (known.size <= KEPT) break;
        known.delete(key);
      }
      return { read, written, plain: total - read - written };
    },
  };
}

function prefixesOf({ toolConfig, system = [], messages = [] }: ConverseRequest) {
  const parts: readonly Pick<ConverseBlock, "image" | "document" | "cachePoint">[] = [
    ...(toolConfig?.tools ?? []).map((tool) => tool as ConverseBlock),
    ...system,
    ...messages.flatMap(({ role, content }) => [{ role }, ...content]),
  ];
  const prefixes: { readonly key: string; readonly tokens: number }[] = [];
  const hash = createHash("sha256");
  let characters = 0;
  let files = 0;
  for (const part of parts) {
    if (part.cachePoint !== undefined) {
      prefixes.push({ key: hash.copy().digest("base64"), tokens: Math.ceil(characters / 4) + files });
      continue;
    }
    const text = canonical(part);
    hash.update(text);
    const file = part.image ?? part.document;
    if (file === undefined) characters += text.length;
    else files += fileTokens(file.format, file.source.bytes);
  }
  return { prefixes, total: Math.ceil(characters / 4) + files };
}

function fileTokens(format: string, data = ""): number {
  const mime = MIME_TYPES[format] ?? "";
  return isMediaType(mime) ? mediaTokens(mime, Buffer.from(data, "base64")) : 0;
}
