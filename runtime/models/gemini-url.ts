import { z } from "zod";
import { ModelSettingsInvalid } from "./failures.ts";

const invalid = (what: string) => new ModelSettingsInvalid(`the Gemini base URL ${what}`);

/**
 * The root that `/v1beta/models/…` is appended to, from any form that people have at hand: with or without a slash, a
 * version or `/models` at its end. Throws `ModelSettingsInvalid`, which does not repeat the value: it may hold a key.
 */
export function geminiBaseUrl(text: string): string {
  if (!URL.canParse(text.trim())) throw invalid("is not a URL; it begins with https:// or http://");
  const url = new URL(text.trim());
  if (url.protocol !== "https:" && url.protocol !== "http:") throw invalid("must begin with https:// or http://");
  if (url.username !== "" || url.password !== "") throw invalid("must not hold a user name or password; use headers");
  if (url.search !== "" || url.hash !== "") throw invalid("must not hold a query or a fragment; use headers for a key");
  const steps = url.pathname.split("/").filter((step) => step !== "");
  if (steps.at(-2) === "models" && /:(stream)?generateContent$/i.test(steps.at(-1) ?? "")) steps.pop();
  if (steps.at(-1) === "models") steps.pop();
  if (/^v\d+((alpha|beta)\d*)?$/.test(steps.at(-1) ?? "")) steps.pop();
  if (steps.some((step) => step.includes(":"))) throw invalid("names a method in its path; stop before /models");
  if (/\/(openai|compat|chat\/completions)$/.test(`/${steps.join("/")}`)) {
    throw invalid("is that of an OpenAI-compatible endpoint; Dormouse needs the native Gemini one");
  }
  return [url.origin, ...steps].join("/");
}

const headersSchema = z.record(z.string(), z.string());

/** Extra headers from a JSON object of texts. Throws `ModelSettingsInvalid`, which names no value. */
export function geminiHeaders(json: string | undefined): Readonly<Record<string, string>> {
  if (json === undefined || json.trim() === "") return {};
  const wrong = new ModelSettingsInvalid('the Gemini headers must be one JSON object of texts, like {"name": "value"}');
  try {
    const headers = headersSchema.parse(JSON.parse(json));
    // The platform's own check of names and values.
    new Headers(headers);
    return headers;
  } catch {
    // The parser's message would quote a key.
    throw wrong;
  }
}
