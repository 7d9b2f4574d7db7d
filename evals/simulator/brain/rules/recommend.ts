import { interactionNotes, notRecognised } from "../answers/interactions.ts";
import { andList, plural } from "../answers/phrases.ts";
import {
  Evidence,
  Interactions as InteractionData,
  type Interactions,
  nameOf,
  type Patient,
  Products,
} from "../data.ts";
import { whichPatient } from "../patient.ts";
import { type Choice, naming, pick, wishes } from "../pick.ts";
import type { Scene } from "../scene.ts";
import { ask, askAll, have, need, PlanStopped, type Rule, type Steps } from "../steps.ts";
import { topic, withPersonAsName } from "../topic.ts";

/** "Recommend a magnesium for <patient>", "which iron product for my patient", "show me zinc lozenges" */
export const recommend: Rule = {
  id: "recommend",
  fits: ({ now: { question } }) =>
    /\b(recommend|suggest)/i.test(question) ||
    /\b(which|what|best|good|any|find|show|looking for|need|pick|choose|options?|alternatives?)\b.*\b(products?|brands?|supplements?|capsules?|tablets?|powders?|softgels?|gummies|lozenges?|drops|in stock|options?)\b/i.test(
      question,
    ) ||
    /\b(in stock|available|price|cost of|how expensive)\b/i.test(question) ||
    /\bwhat (should|could|can) (i|she|he|they|my patient|the patient) (take|use|give)\b/i.test(question),
  *steps(scene) {
    const about = topic(scene);
    const patient = yield* whichPatient(scene, about.person, true);
    const asked = patient === null ? withPersonAsName(about) : about.names;
    const names = asked.length > 0 ? asked.slice(0, 3) : yield* fromEvidence(scene, about.purposes);
    const medications = (patient?.medications ?? []).map(({ name }) => name);

    const searches = names.map((name) => ({ tool: "product_search", args: { query: name, limit: 10 } }));
    const check = { tool: "interaction_check", args: { items: [...medications, ...names] } };
    const found = yield* askAll(...searches, ...(medications.length > 0 ? [check] : []));
    const interactions =
      medications.length > 0 ? have(found[searches.length] ?? { kind: "no_tool" }, InteractionData) : null;
    if (interactions !== null && hasMajor(interactions)) return warning(names, patient, interactions);

    const wants = wishes(scene.now.question, patient, scene.now.context.preferences);
    const searched = names.map((name, at) => {
      const { products } = need(found[at] ?? { kind: "no_tool" }, "product search", Products).data;
      const { literal, list } = naming(products, name);
      const isBrand = !literal && list.some(({ brand }) => brand?.toLowerCase().includes(name.toLowerCase()));
      return { name, literal, isBrand, picked: pick(list, wants, names.length === 1 ? 2 : 1) };
    });
    // "Brand X zinc" names one thing; the brand weighs in the choice already.
    const results = searched.every(({ isBrand }) => isBrand) ? searched : searched.filter(({ isBrand }) => !isBrand);
    const choices = results.flatMap(({ picked }) => picked.choices);
    if (choices.length > 0) yield* showCards(scene, choices, patient);
    const lines = results.map(({ name, literal, picked }) => {
      if (picked.choices.length === 0) return `I found no suitable product for ${name}${leftOut(picked.leftOut)}.`;
      const note = literal ? [] : [`No product in the catalog is called ${name}; these are its closest matches:`];
      const rest = picked.leftOut.length > 0 ? [`Not suggested${leftOut(picked.leftOut)}.`] : [];
      return [...note, picked.choices.map(choiceLine).join("\n"), ...rest].join("\n\n");
    });
    const head =
      choices.length === 0
        ? ""
        : `${patient === null ? "" : `For ${patient.name} `}I suggest ${plural(choices.length, "product")}:\n\n`;
    return `${head}${lines.join("\n\n")}${safety(interactions, medications, patient, names)}`;
  },
};

/** A need without a named supplement: the one that the evidence index names most for it. */
function* fromEvidence(scene: Scene, purposes: readonly string[]): Steps<readonly string[]> {
  if (purposes.length === 0) throw new PlanStopped("Which supplement should I look for, and for which patient?");
  const query = purposes.join(" ");
  if (!scene.tools.has("evidence_search")) throw new PlanStopped(`Which supplement do you have in mind for ${query}?`);
  const { evidence } = need(yield* ask("evidence_search", { query, limit: 10 }), "evidence search", Evidence).data;
  const counts = new Map<string, number>();
  for (const name of evidence.flatMap((each) => (each.supplements ?? []).map(nameOf)))
    counts.set(name, (counts.get(name) ?? 0) + 1);
  const [best] = [...counts].sort((a, b) => b[1] - a[1]);
  if (best === undefined)
    throw new PlanStopped(`I found no evidence record for ${query}. Which supplement do you have in mind?`);
  return [best[0]];
}

function* showCards(scene: Scene, choices: readonly Choice[], patient: Patient | null): Steps<void> {
  if (!scene.tools.has("recommend_supplements")) return;
  const supplements = choices.map(({ variantId, dosing, reasons }) => ({
    variant_id: variantId,
    dosing,
    rationale: `In stock${reasons.length > 0 ? `; ${reasons.join("; ")}` : ""}.`,
  }));
  yield* ask("recommend_supplements", { supplements, ...(patient !== null && { patient_id: patient.id }) });
}

function choiceLine({ product, dosing, reasons }: Choice): string {
  const price = product.price?.amount ? `, ${product.price.amount} ${product.price.currency ?? ""}`.trimEnd() : "";
  const note = product.note ? ` Note: ${product.note}` : "";
  const why = reasons.length > 0 ? ` Why: ${andList(reasons)}.` : "";
  return `- **${product.name}**${product.brand ? ` by ${product.brand}` : ""}${product.form ? ` (${product.form}${price})` : price}: ${dosing}.${why}${note}`;
}

const leftOut = (reasons: readonly string[]): string => (reasons.length === 0 ? "" : ` (${andList(reasons)})`);

const hasMajor = (check: Interactions): boolean =>
  check.findings.some(({ severity }) => /^(major|severe|contraindicated)$/i.test(severity));

function warning(names: readonly string[], patient: Patient | null, check: Interactions): string {
  return `I don't suggest a product with ${andList(names)} for ${patient?.name ?? "this patient"}, because of what is recorded for the current medications:\n\n${interactionNotes(check)}`;
}

function safety(
  check: Interactions | null,
  medications: readonly string[],
  patient: Patient | null,
  names: readonly string[],
): string {
  if (check !== null)
    return `\n\nWith the current medications (${andList(medications)}):\n\n${[interactionNotes(check), ...notRecognised(check.unknown ?? [])].join("\n\n").trim()}`;
  if (medications.length > 0) return "\n\nI could not check interactions with the current medications.";
  if (patient !== null)
    return `\n\nNo medications are recorded for ${patient.name}, so there was nothing to check ${andList(names)} against.`;
  return "";
}
