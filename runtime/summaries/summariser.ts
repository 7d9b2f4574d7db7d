import type { Issuer } from "../../machines/conversation/entries.ts";
import { failureCode } from "../../machines/failure.ts";
import { type TurnId, turnId } from "../../machines/ids.ts";
import type { Model, ModelEvent, Usage } from "../../machines/model.ts";

export type SummaryRequest = {
  readonly instructions: string;
  readonly text: string;
  readonly maxOutputTokens: number;
};

/** What a summariser said. Thought and calls are not in `text`; a text without an end is `truncated`. */
export type SummaryAnswer = { readonly text: string; readonly truncated: boolean; readonly usage: Usage };

/** Whoever sums a conversation up: a cheap model in this process, or later a worker. */
export interface Summariser {
  readonly profile: string;
  readonly issuer: Issuer;
  /** Version of the projector behind it. */
  readonly projector: number;
  /** Context window in tokens: request and answer together. */
  readonly window: number;
  /** Rejects with a `Failure` when there is no answer. */
  answer(request: SummaryRequest, signal: AbortSignal): Promise<SummaryAnswer>;
}

const NO_USAGE: Usage = { input: 0, output: 0, thinking: 0, cached: 0 };
/** The request belongs to no turn: only its text is sent. */
const NOWHERE: TurnId = turnId("00000000-0000-4000-8000-000000000000");

/** A summariser over a model: one text in, one text out, without tools, so that every provider takes the request. */
export function modelSummariser(model: Model): Summariser {
  return {
    profile: model.name,
    issuer: model.issuer,
    projector: model.projector,
    window: model.window,
    async answer({ instructions, text, maxOutputTokens }, signal) {
      const request = {
        system: instructions,
        tools: [],
        entries: [{ kind: "user", turnId: NOWHERE, text }] as const,
        maxOutputTokens,
        thinking: false,
      };
      try {
        for await (const event of model.stream(request, signal)) {
          if (event.type === "end") return { ...said(event), usage: event.usage };
        }
      } catch (error) {
        // The model answered, with nothing in it: that is judged like any other answer.
        const code = failureCode(error);
        if (code === "output_budget_exhausted") return { text: "", truncated: true, usage: NO_USAGE };
        if (code === "empty_response" || code === "malformed_tool_call") {
          return { text: "", truncated: false, usage: NO_USAGE };
        }
        throw error;
      }
      throw new TypeError(`model ${model.name} ended its stream without an end`);
    },
  };
}

function said({ parts, truncated }: Extract<ModelEvent, { type: "end" }>): { text: string; truncated: boolean } {
  return { text: parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("\n"), truncated };
}
