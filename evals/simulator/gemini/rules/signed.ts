import { readings, type SignatureCheck, type Signer } from "../signatures.ts";
import type { GeminiContent, GeminiRequest } from "../wire.ts";
import { firstOf, type Rule } from "./rule.ts";

/** The first call of every model turn proves where the turn came from; the other calls of the turn need no proof. */
export const firstCallSigned: Rule = ({ contents = [] }) =>
  firstOf(contents, ({ parts = [] }, at) => {
    const index = parts.findIndex((part) => part.functionCall !== undefined);
    const signature = parts[index]?.thoughtSignature;
    return index < 0 || (signature !== undefined && signature !== "")
      ? undefined
      : `contents[${at}].parts[${index}]: function call is missing a thought_signature`;
  });

const withCheck = (request: GeminiRequest, signer: Signer, bad: SignatureCheck, words: string): string | undefined =>
  firstOf(request.contents ?? [], (content: GeminiContent, at) =>
    firstOf(content.parts ?? [], (part, index) => {
      if (part.thoughtSignature === undefined) return undefined;
      const found = signer.check(part.thoughtSignature, readings(part, content.parts ?? []));
      return found === bad ? `contents[${at}].parts[${index}]: ${words}` : undefined;
    }),
  );

export const signatureGenuine: Rule = (request, signer) =>
  withCheck(request, signer, "foreign", "thought_signature is not valid");

export const signatureOnItsPart: Rule = (request, signer) =>
  withCheck(request, signer, "moved", "thought_signature belongs to another part, or the part was changed");

export const placeholderOnCalls: Rule = ({ contents = [] }, signer) =>
  firstOf(contents, ({ parts = [] }, at) =>
    firstOf(parts, (part, index) =>
      part.thoughtSignature !== undefined &&
      part.functionCall === undefined &&
      signer.check(part.thoughtSignature, []) === "skipped"
        ? `contents[${at}].parts[${index}]: the placeholder signature is for function calls only`
        : undefined,
    ),
  );
