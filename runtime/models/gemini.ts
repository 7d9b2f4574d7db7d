import { type Content, type GenerateContentResponse, GoogleGenAI, type Tool } from "@google/genai";
import { GEMINI_PROJECTOR, projectGemini } from "../../machines/conversation/project-gemini.ts";
import type { CallId } from "../../machines/ids.ts";
import type { Model } from "../../machines/model.ts";
import { ModelFailure, ModelUnavailable } from "./failures.ts";
import { answerReader } from "./gemini-answer.ts";
import { bareCause } from "./gemini-errors.ts";
import { type Fetch, geminiFetch } from "./gemini-transport.ts";
import { geminiBaseUrl } from "./gemini-url.ts";
import type { Notice } from "./notices.ts";
import { realTimers, type Timers } from "./timers.ts";

export type GeminiOptions = {
  /** The profile's name, for people. Never decides anything. */
  readonly name: string;
  /** What is behind the base URL, a gateway or not. */
  readonly issuer: "gemini-api" | "vertex";
  /** In any form that `geminiBaseUrl` understands. */
  readonly baseUrl: string;
  /** Absent when the gateway holds the key. */
  readonly apiKey?: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The provider's name of the model. */
  readonly model: string;
  /** Context window in tokens. */
  readonly window: number;
  /** Silence of the server that ends a call, in milliseconds. */
  readonly stallMs: number;
  readonly newCallId: () => CallId;
  readonly notice?: Notice;
  readonly timers?: Timers;
  readonly now?: () => number;
  readonly fetch?: Fetch;
};

/**
 * A Gemini model through Google's SDK. One try: no retry, no failover. Throws `ModelSettingsInvalid` for a base URL that
 * can't be understood; its streams throw `ModelFailure`, or the signal's reason once that aborted.
 */
export function geminiModel(options: GeminiOptions): Model {
  const { name, issuer, apiKey, headers, model, window, stallMs, newCallId } = options;
  const { timers = realTimers, now = Date.now, fetch = globalThis.fetch, notice = () => {} } = options;
  const sdk = new GoogleGenAI({
    apiKey: apiKey ?? "held-by-the-gateway",
    // Said outright: the SDK would also look for it in the environment.
    vertexai: false,
    apiVersion: "v1beta",
    httpOptions: {
      baseUrl: geminiBaseUrl(options.baseUrl),
      headers: { ...headers },
      fetch: geminiFetch({ fetch, timers, now, stallMs, withoutKey: apiKey === undefined }),
    },
  });

  return {
    name,
    issuer,
    window,
    projector: GEMINI_PROJECTOR,
    async *stream(request, signal) {
      signal.throwIfAborted();
      const { systemInstruction, contents, tools, generation, warnings } = projectGemini(request, issuer);
      for (const warning of warnings) notice(warning, name);
      const answer = answerReader({ tools: request.tools, newCallId, notice: (each) => notice(each, name) });
      const call = abortable(signal);
      try {
        const chunks = chunksOf(signal, () =>
          sdk.models.generateContentStream({
            model,
            contents: contents as Content[],
            config: {
              ...generation,
              ...(systemInstruction && { systemInstruction }),
              // The SDK rewrites declarations in place, and these are every request's.
              ...(tools && { tools: structuredClone(tools) as Tool[] }),
              abortSignal: call.signal,
              automaticFunctionCalling: { disable: true },
              automaticContinuation: false,
            },
          }),
        );
        for await (const chunk of chunks) yield* answer.read(chunk);
        yield { type: "end", ...answer.end(), profile: name, issuer };
      } finally {
        call.end();
      }
    },
  };
}

/** The SDK neither closes the connection of a stream that is left early nor lets go of a signal: this does both. */
function abortable(outer: AbortSignal): { readonly signal: AbortSignal; end(): void } {
  const inner = new AbortController();
  const onAbort = () => inner.abort(outer.reason);
  outer.addEventListener("abort", onAbort, { once: true });
  return {
    signal: inner.signal,
    end() {
      outer.removeEventListener("abort", onAbort);
      inner.abort();
    },
  };
}

/** What the SDK yields; what it throws as a `ModelFailure`, or as the reason of the abort. */
async function* chunksOf(
  signal: AbortSignal,
  open: () => Promise<AsyncGenerator<GenerateContentResponse>>,
): AsyncGenerator<GenerateContentResponse> {
  try {
    yield* await open();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ModelFailure) throw error;
    throw new ModelUnavailable("stream_error", { cause: bareCause(error) });
  }
}
