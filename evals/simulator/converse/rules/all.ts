import type { ConverseSigner } from "../signatures.ts";
import type { ConverseRequest } from "../wire.ts";
import * as cache from "./cache.ts";
import * as calls from "./calls.ts";
import * as files from "./files.ts";
import * as messages from "./messages.ts";
import * as reasoning from "./reasoning.ts";
import type { Rule } from "./rule.ts";
import * as tools from "./tools.ts";

/** Every rule by its id, in the order in which they are checked. Each id stands in the name of a test. */
export const CONVERSE_RULES = {
  CM1: messages.messagesGiven,
  CM2: messages.rolesKnown,
  CM3: messages.startsWithUser,
  CM4: messages.endsWithUser,
  CM5: messages.rolesAlternate,
  CM6: messages.contentGiven,
  CM7: messages.blocksAreUnions,
  CM8: messages.blocksFitRole,
  CM9: messages.textNotBlank,
  CM10: messages.systemNotBlank,
  CM11: messages.textWellFormed,
  CU1: calls.idsLegal,
  CU2: calls.idsUnique,
  CU3: calls.usedNamesLegal,
  CU4: calls.inputIsObject,
  CU5: calls.callsAnswered,
  CU6: calls.resultsAsked,
  CU7: calls.resultsSayWhy,
  CU8: calls.toolsDeclared,
  CR1: reasoning.reasoningSigned,
  CR2: reasoning.signatureGenuine,
  CR3: reasoning.reasoningUnchanged,
  CR4: reasoning.reasoningBeforeCalls,
  CR5: reasoning.reasoningFirst,
  CR6: reasoning.reasoningNotLast,
  CR7: reasoning.reasoningAtHome,
  CR8: reasoning.openStepReasoned,
  CR9: reasoning.openStepWithoutThinking,
  CR10: reasoning.thinkingFits,
  CC1: cache.cachePointsFew,
  CC2: cache.cachePointNotAfterReasoning,
  CC3: cache.cachePointNotInResult,
  CC4: cache.cachePointEndsSomething,
  CD1: files.filesValid,
  CD2: files.documentNamesLegal,
  CD3: files.documentsDistinct,
  CD4: files.documentsHaveText,
  CD5: files.filesFew,
  CT1: tools.toolsGiven,
  CT2: tools.namesLegal,
  CT3: tools.namesUnique,
  CT4: tools.rootsAreObjects,
  CT5: tools.propertyNamesLegal,
} as const satisfies Record<string, Rule>;

export type ConverseRuleId = keyof typeof CONVERSE_RULES | "CM0";
export type ConverseRefusal = { readonly rule: ConverseRuleId; readonly message: string };

/** The first rule that the request breaks, if any. */
export function converseRefusal(request: ConverseRequest, signer: ConverseSigner): ConverseRefusal | undefined {
  for (const [id, rule] of Object.entries(CONVERSE_RULES)) {
    const message = rule(request, signer);
    if (message !== undefined) return { rule: id as ConverseRuleId, message };
  }
  return undefined;
}
