import type { Reply } from "../brain/reply.ts";
import { canonical } from "../canonical.ts";
import type { Fault, Knobs } from "../knobs.ts";
import type { Signer } from "./signatures.ts";
import { promptTokens, tokensIn, usage } from "./usage.ts";
import type { GeminiChunk, GeminiPart, GeminiRequest } from "./wire.ts";

/** One event of the stream and how many output tokens it adds. */
export type GeminiEvent = { readonly chunk: GeminiChunk; readonly tokens: number };

type Piece = { readonly parts: readonly GeminiPart[]; readonly tokens: number; readonly thinking?: true };

/**
 * The answer as the real service streams it: thoughts first when wanted, text word by word, a text answer closed by an empty
 * part with the signature, each call in an event of its own with the signature on the first, STOP also when there are calls.
 */
export function events(
  reply: Reply,
  request: GeminiRequest,
  model: string,
  signer: Signer,
  knobs: Knobs,
  fault: Fault | undefined,
): readonly GeminiEvent[] {
  const responseId = signer.id(`response ${model} ${canonical(request)}`);
  const prompt = promptTokens(request);
  const base = { modelVersion: model, responseId };
  if (fault?.kind === "blocked") {
    return [
      {
        chunk: { promptFeedback: { blockReason: fault.reason }, usageMetadata: usage(prompt, 0, 0), ...base },
        tokens: 0,
      },
    ];
  }
  if (fault?.kind === "empty") return [{ chunk: { ...emptyShape(fault.shape), ...base }, tokens: 0 }];

  const all = [
    ...thoughts(reply, request),
    ...texts(reply, knobs, signer, responseId),
    ...calls(reply, knobs, signer, responseId),
  ];
  const pieces = fault?.kind === "finish" && !fault.keepParts ? [{ parts: [], tokens: 0 }] : all;
  const finish = fault?.kind === "finish" ? fault.reason : "STOP";
  let said = 0;
  // Thinking is paid for whether or not it is shown.
  let thought = thoughts(reply, request).length > 0 ? 0 : tokensIn(reply.thought);
  return pieces.map(({ parts, tokens, ...rest }, at) => {
    if ("thinking" in rest) thought += tokens;
    else said += tokens;
    const ends = at === pieces.length - 1 && fault?.kind !== "no_finish";
    const candidate = {
      content: parts.length === 0 ? { role: "model" as const } : { role: "model" as const, parts },
      ...(ends ? { finishReason: finish } : {}),
      index: 0 as const,
    };
    return { chunk: { candidates: [candidate], usageMetadata: usage(prompt, said, thought), ...base }, tokens };
  });
}

/** The same answer as one response, for `generateContent`. */
export function merged(parts: readonly GeminiEvent[]): GeminiChunk {
  const last = parts.at(-1)?.chunk;
  if (last === undefined) throw new TypeError("an answer has at least one event");
  const end = last.candidates?.[0];
  if (end === undefined) return last;
  const joined: GeminiPart[] = [];
  for (const part of parts.flatMap(({ chunk }) => chunk.candidates?.[0]?.content?.parts ?? [])) {
    const before = joined.at(-1);
    const joins = before?.text !== undefined && part.text !== undefined && before.thought === part.thought;
    if (joins) joined[joined.length - 1] = { ...before, ...part, text: `${before.text}${part.text}` };
    else joined.push(part);
  }
  if (joined.length === 0) return last;
  return {
    ...last,
    candidates: [{ ...end, content: { role: "model", parts: joined } }],
  };
}

function emptyShape(shape: "empty_list" | "no_candidates" | "no_content"): Pick<GeminiChunk, "candidates"> {
  if (shape === "no_candidates") return {};
  return { candidates: shape === "empty_list" ? [] : [{ index: 0, finishReason: "STOP" }] };
}

function thoughts(reply: Reply, request: GeminiRequest): readonly Piece[] {
  if (request.generationConfig?.thinkingConfig?.includeThoughts !== true || reply.thought === "") return [];
  return [{ parts: [{ text: reply.thought, thought: true }], tokens: tokensIn(reply.thought), thinking: true }];
}

function texts(reply: Reply, knobs: Knobs, signer: Signer, salt: string): readonly Piece[] {
  if (reply.text === "") return [];
  const words = reply.text.match(/\s*\S+\s*$|\s*\S+/g) ?? [reply.text];
  const pieces: Piece[] = [];
  for (let at = 0; at < words.length; at += knobs.wordsPerEvent) {
    const text = words.slice(at, at + knobs.wordsPerEvent).join("");
    pieces.push({ parts: [{ text }], tokens: tokensIn(text) });
  }
  if (reply.calls.length > 0) return pieces;
  const thoughtSignature = signer.issue({ kind: "text", text: reply.text }, salt);
  return [...pieces, { parts: [{ text: "", thoughtSignature }], tokens: 0 }];
}

function calls(reply: Reply, knobs: Knobs, signer: Signer, salt: string): readonly Piece[] {
  return reply.calls.map(({ tool, args }, at) => {
    const id = knobs.callIds ? { id: `call_${signer.id(`${salt} ${at}`)}` } : {};
    const signature = at === 0 ? { thoughtSignature: signer.issue({ kind: "call", name: tool, args }, salt) } : {};
    return {
      parts: [{ functionCall: { ...id, name: tool, args: { ...args } }, ...signature }],
      tokens: tokensIn(`${tool}${canonical(args)}`),
    };
  });
}
