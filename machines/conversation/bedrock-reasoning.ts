import type { ReasoningContentBlock } from "@aws-sdk/client-bedrock-runtime";
import type { TurnId } from "../ids.ts";
import type { AssistantEntry, AssistantPart, Issuer } from "./entries.ts";

/** Why reasoning of the same issuer is not sent back. */
export type ReasoningLoss =
  /** Its signature never came, or was lost. */
  | "unsigned"
  /** It can't be sent as it was signed. */
  | "damaged"
  /** Nothing follows it: a message must not end with reasoning. */
  | "alone"
  /** The request goes without thinking, and then its open step must hold none. */
  | "thinking_off";

/** Reasoning of the same issuer that could not be replayed: to be told as the event `reasoning_dropped`. */
export type ReasoningLost = {
  readonly kind: "reasoning_dropped";
  readonly turnId: TurnId;
  readonly step: number;
  readonly reason: ReasoningLoss;
};

type ReasoningPart = Extract<AssistantPart, { kind: "reasoning" }>;

export const lost = ({ turnId, step }: AssistantEntry, reason: ReasoningLoss): ReasoningLost => ({
  kind: "reasoning_dropped",
  turnId,
  step,
  reason,
});

/** The block to replay, or why there is none; undefined when this issuer did not make it. */
export function replayable(
  part: ReasoningPart,
  entry: AssistantEntry,
  issuer: Issuer,
): ReasoningContentBlock | ReasoningLoss | undefined {
  if (entry.issuer !== issuer) return undefined;
  if (part.redacted !== undefined) {
    const bytes = bytesOf(part.redacted);
    return bytes === undefined ? "damaged" : { redactedContent: bytes };
  }
  if (part.signature === undefined || part.signature === "") return "unsigned";
  if (!part.text.isWellFormed()) return "damaged";
  return { reasoningText: { text: part.text, signature: part.signature } };
}

function bytesOf(base64: string): Uint8Array | undefined {
  try {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    return bytes.length === 0 ? undefined : bytes;
  } catch {
    return undefined; // told as "damaged"
  }
}
