import type { Rule } from "../steps.ts";
import { askMe } from "./ask-me.ts";
import { changeProposal } from "./change-proposal.ts";
import { decided } from "./decided.ts";
import { deedsDone } from "./deeds.ts";
import { depletions } from "./depletions.ts";
import { evidence } from "./evidence.ts";
import { facts } from "./facts.ts";
import { help } from "./help.ts";
import { interactions } from "./interactions.ts";
import { labs } from "./labs.ts";
import { meta } from "./meta.ts";
import { plan } from "./plan.ts";
import { propose } from "./propose.ts";
import { recommend } from "./recommend.ts";
import { record } from "./record.ts";
import { showPlan } from "./show-plan.ts";

const OTHERS: readonly Rule[] = [
  deedsDone,
  meta,
  help,
  propose,
  plan,
  showPlan,
  record,
  depletions,
  interactions,
  recommend,
  evidence,
  labs,
  facts,
];

/** The intents, most telling words first: the first that fits a question answers it. */
export const RULES: readonly Rule[] = [changeProposal, decided, askMe(OTHERS), ...OTHERS];
