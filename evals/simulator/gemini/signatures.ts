import { createHmac, timingSafeEqual } from "node:crypto";
import { canonical } from "../canonical.ts";
import type { GeminiPart } from "./wire.ts";

/** Placeholders that Google documents for calls which another model made: they switch the check off. */
export const SKIP_PLACEHOLDERS: ReadonlySet<string> = new Set([
  "skip_thought_signature_validator",
  "context_engineering_is_the_way_to_go",
]);

export type SignatureCheck = "genuine" | "skipped" | "moved" | "foreign";

/** Issues signatures and recognises them later without storing any: the key depends on the seed alone. */
export type Signer = {
  /** `salt` makes two equal parts of different answers carry different signatures; equal input gives an equal signature. */
  issue(bound: SignedThing, salt: string): string;
  /** `candidates` are the readings of the part that the signature may stand for. */
  check(signature: string, candidates: readonly SignedThing[]): SignatureCheck;
  /** A short id that depends on the seed and `text` only. */
  id(text: string): string;
};

/** What a signature vouches for: one call with its arguments, or the whole text of an answer. */
export type SignedThing =
  | { readonly kind: "call"; readonly name: string; readonly args: unknown }
  | { readonly kind: "text"; readonly text: string };

const NONCE = 12;
const MARK = 12;
const BOUND = 16;

export function signer(seed: number): Signer {
  const key = createHmac("sha256", "dormouse simulator").update(String(seed)).digest();
  const mac = (label: string, data: Buffer | string, size: number) =>
    createHmac("sha256", key).update(label).update(data).digest().subarray(0, size);
  const bind = (nonce: Buffer, thing: SignedThing) =>
    mac("bound", `${nonce.toString("hex")}${canonical(thing)}`, BOUND);

  return {
    issue(bound, salt) {
      const nonce = mac("nonce", `${salt}${canonical(bound)}`, NONCE);
      return Buffer.concat([nonce, mac("mark", nonce, MARK), bind(nonce, bound)]).toString("base64");
    },
    check(signature, candidates) {
      if (SKIP_PLACEHOLDERS.has(signature)) return "skipped";
      const bytes = Buffer.from(signature, "base64");
      if (bytes.length !== NONCE + MARK + BOUND || bytes.toString("base64") !== signature) return "foreign";
      const nonce = bytes.subarray(0, NONCE);
      if (!timingSafeEqual(bytes.subarray(NONCE, NONCE + MARK), mac("mark", nonce, MARK))) return "foreign";
      const tail = bytes.subarray(NONCE + MARK);
      return candidates.some((thing) => timingSafeEqual(tail, bind(nonce, thing))) ? "genuine" : "moved";
    },
    id: (text) => mac("id", text, 9).toString("base64url").replaceAll("-", "A").replaceAll("_", "B"),
  };
}

/**
 * What a signature on this part may vouch for. The text signature comes on an empty last part: it is at home there and on a
 * part that holds the whole text, since a client may join the two.
 */
export function readings(part: GeminiPart, siblings: readonly GeminiPart[]): readonly SignedThing[] {
  if (part.functionCall !== undefined) {
    return [{ kind: "call", name: part.functionCall.name, args: part.functionCall.args ?? {} }];
  }
  if (part.text === undefined || part.thought === true) return [];
  const whole = siblings.map((each) => (each.thought === true ? "" : (each.text ?? ""))).join("");
  return [
    { kind: "text", text: part.text },
    { kind: "text", text: whole },
  ];
}
