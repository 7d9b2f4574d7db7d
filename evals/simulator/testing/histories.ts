import fc from "fast-check";
import type {
  AssistantEntry,
  AssistantPart,
  Entry,
  ToolCall,
  ToolOutcome,
  UserEntry,
} from "../../../machines/conversation/entries.ts";
import type { MediaByBlob } from "../../../machines/conversation/media.ts";
import { sentName } from "../../../machines/conversation/names.ts";
import { never } from "../../../machines/failure.ts";
import {
  type BlobId,
  type BlockId,
  type CallId,
  type CommandId,
  type InteractionId,
  turnId,
} from "../../../machines/ids.ts";
import type { ModelRequest, ToolDeclaration } from "../../../machines/model.ts";
import type { ConverseSigner } from "../converse/signatures.ts";
import type { Signer } from "../gemini/signatures.ts";

/** The two providers' own pens: only what they signed may come back to them. */
export type Pens = { readonly gemini: Signer; readonly claude: ConverseSigner };

const TURN = turnId("00000000-0000-4000-8000-000000000001");
const ID = "00000000-0000-4000-8000-000000000002";
const NAMES = ["find", "clinic.patient.find", "näme", `catalog_${"x".repeat(70)}`];
const FILES = ["image/png", "application/pdf", "text/plain", "image/gif", "application/zip"].map((mime, at) => ({
  blobId: `00000000-0000-4000-8000-00000000001${at}` as BlobId,
  mime,
  bytes: 3,
}));
const fetched: MediaByBlob = new Map(
  FILES.map(({ blobId, mime }) => [blobId, { mime, bytes: Uint8Array.of(1, 2, 3) }]),
);
const words = fc.oneof(
  fc.constantFrom("", " ", "\n\t", "\u001c", "\u200b", "\ud800", "yes", "naïve 妊娠 👩‍⚕️", "</context>", "\\ud800"),
  fc.string({ unit: "binary", maxLength: 16 }),
);
const salt = fc.integer({ min: 0, max: 9 }).map((at) => `answer ${at}`);
const callId = fc.constantFrom("c1", "c2", "c3", "fc.7:ü", `call_${"a".repeat(90)}|1`, `call_${"a".repeat(90)}|2`, "");
const args = fc.oneof(
  fc.dictionary(fc.string({ maxLength: 6 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }),
  fc.constantFrom<unknown>(undefined, null, "half {", [1], { "\udc00": "\ud800" }),
);
const broken = fc.constantFrom<ToolCall["broken"]>(undefined, undefined, undefined, "truncated", "invalid_json");

type Made = { readonly parts: readonly AssistantPart[] };
const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });

const call = fc.record({ callId, name: fc.oneof(fc.constantFrom(...NAMES), words), args, broken }).map(
  ({ broken: why, ...made }): ToolCall => ({
    ...made,
    callId: made.callId as CallId,
    ...(why !== undefined && { broken: why }),
  }),
);

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !/\\ud[89a-f]/.test(JSON.stringify(value));

/** What a Gemini leaves behind: unsigned thoughts, a text that may be signed, calls of which the first may be. */
function ofGemini({ gemini }: Pens): fc.Arbitrary<Made> {
  const signed = (part: AssistantPart, genuine: boolean, from: string): AssistantPart => {
    if (!genuine) return part;
    if (part.kind === "text" && part.text.isWellFormed() && part.text !== "") {
      return { ...part, signature: gemini.issue({ kind: "text", text: part.text }, from) };
    }
    if (part.kind === "tool_call" && isPlain(part.call.args)) {
      const { name, args: given } = part.call;
      return { ...part, signature: gemini.issue({ kind: "call", name: sentName(name), args: given }, from) };
    }
    return part;
  };
  const part = fc.oneof(
    words.map((text): AssistantPart => ({ kind: "reasoning", text })),
    words.map((text): AssistantPart => ({ kind: "text", text })),
    fc.record({ made: call, providerId: optional(fc.constantFrom("fc-1", "fc-2", "")) }).map(
      ({ made, providerId }): AssistantPart => ({
        kind: "tool_call",
        call: { ...made, ...(providerId !== undefined && { providerId }) },
      }),
    ),
  );
  return fc
    .array(fc.record({ part, genuine: fc.boolean(), salt }), { maxLength: 5 })
    .map((all) => ({ parts: all.map(({ part: each, genuine, salt: from }) => signed(each, genuine, from)) }));
}

/** What a Claude leaves behind: reasoning signed, sealed or (when the end was lost) unsigned, texts, calls it named. */
function ofClaude({ claude }: Pens): fc.Arbitrary<Made> {
  const kinds = fc.array(
    fc.oneof(
      fc.record({ kind: fc.constantFrom("signed" as const, "sealed" as const, "unsigned" as const), text: words }),
      words.map((text) => ({ kind: "text" as const, text })),
      fc.record({ kind: fc.constant("call" as const), made: call, named: fc.boolean() }),
    ),
    { maxLength: 5 },
  );
  return fc.tuple(kinds, salt).map(([all, from]) => ({
    parts: all.map((each, at): AssistantPart => {
      switch (each.kind) {
        case "signed":
          // A service signs what it can write: no lone surrogates.
          return {
            kind: "reasoning",
            text: each.text.toWellFormed(),
            signature: claude.sign(each.text.toWellFormed(), from, at),
          };
        case "sealed":
          return { kind: "reasoning", text: "", redacted: claude.seal(each.text, from, at) };
        case "unsigned":
          return { kind: "reasoning", text: each.text };
        case "text":
          return { kind: "text", text: each.text };
        case "call":
          return {
            kind: "tool_call",
            call: { ...each.made, ...(each.named && { providerId: claude.toolUseId(from, at) }) },
          };
        default:
          return never(each);
      }
    }),
  }));
}

function assistant(pens: Pens): fc.Arbitrary<AssistantEntry> {
  const shared = { kind: "assistant", turnId: TURN, step: 1, profile: "renamed" } as const;
  return fc.oneof(
    ofGemini(pens).map(({ parts }): AssistantEntry => ({ ...shared, issuer: "gemini-api", parts })),
    ofClaude(pens).map(({ parts }): AssistantEntry => ({ ...shared, issuer: "bedrock-claude", parts })),
    ofGemini(pens).map(({ parts }): AssistantEntry => ({ ...shared, issuer: "scripted", parts, truncated: true })),
  );
}

const userEntry = fc
  .record({
    text: words,
    context: optional(
      fc.record({ patient: fc.record({ id: words, name: words }), plan: fc.record({ id: words, outline: words }) }),
    ),
    entryPoint: optional(fc.constantFrom("check_interactions")),
    attachments: optional(fc.subarray(FILES)),
  })
  .map(({ text, ...more }): UserEntry => {
    const given = Object.fromEntries(Object.entries(more).filter(([, value]) => value !== undefined));
    return { kind: "user", turnId: TURN, text, ...given };
  });

const outcome = fc.constantFrom<ToolOutcome>("ok", "error", "cancelled", "unknown");
const result = fc
  .record({ callId, text: words, outcome })
  .map((made): Entry => ({ kind: "tool_result", turnId: TURN, name: "find", ...made, callId: made.callId as CallId }));
const note = fc
  .record({
    text: words,
    kind: fc.constantFrom("resolution" as const, "action" as const, "summary" as const, "interaction" as const),
  })
  .map(({ text, kind }): Entry => {
    switch (kind) {
      case "resolution":
        return { kind, turnId: TURN, interactionId: ID as InteractionId, by: "user", text };
      case "action":
        return { kind, turnId: TURN, commandId: ID as CommandId, blockId: ID as BlockId, text };
      case "summary":
        return { kind, turnId: TURN, text, from: 1, to: 2 };
      case "interaction":
        return {
          ...{ kind, turnId: TURN, interactionId: ID as InteractionId, callId: "c1" as CallId },
          pending: { id: ID, revision: 1, kind: "single_choice", prompt: text, schema: {} },
        };
      default:
        return never(kind);
    }
  });

/** Results of some of the step's calls follow it now and then, in any order: what real histories are mostly made of. */
const answeredStep = (pens: Pens): fc.Arbitrary<readonly Entry[]> =>
  fc.tuple(assistant(pens), fc.nat({ max: 3 }), words, outcome).map(([entry, left, text, how]) => {
    const calls = entry.parts.flatMap((part) => (part.kind === "tool_call" ? [part.call] : []));
    const answered = calls.slice(left % 2).toReversed();
    return [
      entry,
      ...answered.map(
        (made): Entry => ({
          kind: "tool_result",
          turnId: TURN,
          callId: made.callId,
          name: made.name,
          outcome: how,
          text,
        }),
      ),
    ];
  });

const declared = (name: string): ToolDeclaration => ({
  name,
  description: "Finds.",
  inputSchema: { type: "object", properties: { q: { type: "string" } }, additionalProperties: false },
});

/** Any request over any history: both issuers interleaved, calls without results, foreign ids, blanks, summaries anywhere. */
export function requests(pens: Pens): fc.Arbitrary<ModelRequest> {
  const entries = fc
    .array(
      fc.oneof(
        { weight: 3, arbitrary: answeredStep(pens) },
        { weight: 4, arbitrary: fc.oneof(userEntry, result, note).map((each) => [each]) },
      ),
      {
        maxLength: 12,
      },
    )
    .map((groups): readonly Entry[] => groups.flat());
  return fc.record({
    entries,
    system: words,
    tools: fc.subarray(NAMES).map((names) => names.map(declared)),
    maxOutputTokens: fc.constantFrom(500, 4_096, 64_000),
    thinking: fc.boolean(),
    media: fc.constantFrom(fetched, new Map()),
  });
}
