import { callId, turnId } from "../../ids.ts";
import type { ModelRequest, ToolDeclaration } from "../../model.ts";
import type { AssistantPart, Entry, Issuer, ToolCall, ToolOutcome, ToolResultEntry, UserEntry } from "../entries.ts";

/** Short builders of entries for tests; all belong to one turn, which projections do not look at. */
export const TURN = turnId("00000000-0000-4000-8000-000000000001");

export const user = (text: string, more: Partial<UserEntry> = {}): UserEntry => ({
  kind: "user",
  turnId: TURN,
  text,
  ...more,
});

export const text = (words: string, signature?: string): AssistantPart => ({
  kind: "text",
  text: words,
  ...(signature !== undefined && { signature }),
});

export const reasoning = (words: string, signature?: string): AssistantPart => ({
  kind: "reasoning",
  text: words,
  ...(signature !== undefined && { signature }),
});

export const call = (id: string, name: string, args: unknown = {}, more: Partial<ToolCall> = {}): ToolCall => ({
  callId: callId(id),
  name,
  args,
  ...more,
});

export const calling = (made: ToolCall, signature?: string): AssistantPart => ({
  kind: "tool_call",
  call: made,
  ...(signature !== undefined && { signature }),
});

export const assistant = (parts: readonly AssistantPart[], issuer: Issuer = "gemini-api"): Entry => ({
  kind: "assistant",
  turnId: TURN,
  step: 1,
  issuer,
  profile: "primary",
  parts,
});

export const result = (id: string, name: string, words: string, outcome: ToolOutcome = "ok"): ToolResultEntry => ({
  kind: "tool_result",
  turnId: TURN,
  callId: callId(id),
  name,
  outcome,
  text: words,
});

export const summary = (words: string): Entry => ({ kind: "summary", turnId: TURN, text: words, from: 1, to: 9 });

export const request = (
  entries: readonly Entry[],
  tools: readonly ToolDeclaration[] = [],
  more: Partial<ModelRequest> = {},
): ModelRequest => ({ system: "be brief", tools, entries, maxOutputTokens: 1_000, thinking: false, ...more });
