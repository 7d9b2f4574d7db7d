import type { Signer } from "../signatures.ts";
import type { GeminiRequest } from "../wire.ts";
import * as contents from "./contents.ts";
import * as declared from "./declared.ts";
import * as json from "./json-schemas.ts";
import type { Rule } from "./rule.ts";
import * as schemas from "./schemas.ts";
import * as signed from "./signed.ts";

/** Every rule by its id, in the order in which they are checked. Each id stands in the name of a test. */
export const RULES = {
  R1: declared.fieldsKnown,
  C1: contents.contentsGiven,
  C2: contents.rolesKnown,
  C3: contents.startsWithUser,
  C4: contents.endsWithUser,
  C5: contents.neighboursAlternate,
  C6: contents.partsGiven,
  C7: contents.partsHoldData,
  C8: contents.partsFitRole,
  C9: contents.callsAnswered,
  C10: contents.responsesAsked,
  C11: contents.responsesInOrder,
  C12: contents.responseIdsMatch,
  C13: contents.inlineDataValid,
  S1: signed.firstCallSigned,
  S2: signed.signatureGenuine,
  S3: signed.signatureOnItsPart,
  S4: signed.placeholderOnCalls,
  T1: declared.functionNamesValid,
  T2: declared.functionNamesUnique,
  T3: declared.oneSchemaField,
  T4: schemas.schemaHasNoRef,
  T5: schemas.schemaKeywordsKnown,
  T6: schemas.schemaTypeSingle,
  T7: schemas.schemaObjectsHaveProperties,
  T8: schemas.schemaArraysHaveItems,
  T9: schemas.schemaRequiredExists,
  T10: schemas.schemaFormatKnown,
  T11: schemas.schemaEnumOfStrings,
  J1: json.jsonSchemaIsObject,
  J2: json.jsonSchemaKeywordsKnown,
  J3: json.jsonSchemaRefsResolve,
} as const satisfies Record<string, Rule>;

export type RuleId = keyof typeof RULES | "R0";
export type Refusal = { readonly rule: RuleId; readonly message: string };

/** The first rule that the request breaks, if any. */
export function refusalOf(request: GeminiRequest, signer: Signer): Refusal | undefined {
  for (const [id, rule] of Object.entries(RULES)) {
    const message = rule(request, signer);
    if (message !== undefined) return { rule: id as RuleId, message };
  }
  return undefined;
}
