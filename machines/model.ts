import type { AssistantPart, Entry, Issuer } from "./conversation/entries.ts";
import type { MediaByBlob } from "./conversation/media.ts";

/** A tool as the model is told of it. `inputSchema` is the untouched original JSON Schema. */
export type ToolDeclaration = {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
};

/** Everything one model call depends on. Projection to a provider's form is the adapter's, through `conversation/`. */
export type ModelRequest = {
  readonly system: string;
  readonly tools: readonly ToolDeclaration[];
  /** History since the anchor, in order; ends with something the model has to answer. */
  readonly entries: readonly Entry[];
  /** Bytes of attachments, fetched for this call. One that is missing, or all when absent, stays its marker's text. */
  readonly media?: MediaByBlob;
  readonly maxOutputTokens: number;
  readonly thinking: boolean;
};

/** Tokens as the provider reported them. `input` is the whole prompt, cached part included. */
export type Usage = {
  readonly input: number;
  readonly output: number;
  readonly thinking: number;
  readonly cached: number;
};

/**
 * What a model streams. `text` and `thinking` are for the screen; `end` carries the whole answer for the history.
 * Exactly one `end`, last, or the stream throws a `ModelFailure`.
 */
export type ModelEvent =
  | { readonly type: "text"; readonly delta: string }
  | { readonly type: "thinking"; readonly delta: string }
  | { readonly type: "reset"; readonly reason: "retry" | "failover" }
  | {
      readonly type: "end";
      readonly parts: readonly AssistantPart[];
      /** The output limit cut the answer. */
      readonly truncated: boolean;
      readonly usage: Usage;
      readonly profile: string;
      readonly issuer: Issuer;
    };

/** A model behind a route. `name` is the profile's name, `issuer` its route kind. */
export interface Model {
  readonly name: string;
  readonly issuer: Issuer;
  /** Context window in tokens. */
  readonly window: number;
  /** Version of the projector that makes its requests from entries (DESIGN §4.6). */
  readonly projector: number;
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}
