import { isDeepStrictEqual } from "node:util";
import { bounded, clipped } from "../bounds.ts";
import { safeText } from "../safe-text.ts";
import type { ToolResult } from "../tool.ts";
import type { CallResult } from "./wire.ts";

const ERROR_CHARACTERS = 2_000;

/**
 * An MCP tool's answer as the model reads it: the structured data once, else the texts; other parts become short markers. `data` is the
 * structured content where there is some, else the text where that is one JSON value.
 */
export function toolResult(result: CallResult, maxCharacters?: number): ToolResult {
  const texts = result.content.map(shown).filter((text) => text !== "");
  const prose = texts.join("\n");
  if (result.isError === true) {
    const text = safeText(prose, ERROR_CHARACTERS);
    return {
      kind: "error",
      reason: "tool",
      text: text === "" ? "The tool reported an error without saying which." : text,
    };
  }
  const [only] = texts;
  const fromText = texts.length === 1 && only !== undefined ? parsed(only) : undefined;
  const data = result.structuredContent ?? fromText;
  const full = words(result.structuredContent, prose, fromText);
  const text = bounded(full, maxCharacters);
  return { kind: "ok", text, data, ...(text.length < full.length && { full }) };
}

function words(structured: unknown, prose: string, fromText: unknown): string {
  if (structured === undefined || structured === null)
    return prose === "" ? "The tool answered without any data." : prose;
  const json = JSON.stringify(structured);
  return prose === "" || isDeepStrictEqual(fromText, structured) ? json : `${prose}\n${json}`;
}

/** One part of the content. Only text reaches the model; the rest is named. */
function shown(part: Readonly<Record<string, unknown>> & { readonly type: string }): string {
  switch (part.type) {
    case "text":
      return textOf(part["text"]);
    case "image":
    case "audio":
      return `[${part.type}, ${name(part["mimeType"], "unknown type")}, ${kilobytes(part["data"])}: not shown]`;
    case "resource_link":
      return `[link to "${name(part["title"] ?? part["name"], "a resource")}": not followed]`;
    case "resource": {
      const resource =
        typeof part["resource"] === "object" ? (part["resource"] as Record<string, unknown> | null) : null;
      const text = textOf(resource?.["text"]);
      return text === "" ? `[resource, ${name(resource?.["mimeType"], "unknown type")}: not shown]` : text;
    }
    default:
      return `[${name(part.type, "unknown part")}: not shown]`;
  }
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const name = (value: unknown, fallback: string) =>
  typeof value === "string" && value !== "" ? clipped(value.replace(/[\r\n"[\]]/g, " "), 80) : fallback;
const kilobytes = (base64: unknown) => `${Math.ceil((textOf(base64).length * 3) / 4 / 1024)} KB`;

function parsed(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
