import { Products } from "../data.ts";
import { naming } from "../pick.ts";
import { ask, need, PlanStopped, type Rule } from "../steps.ts";
import { things } from "../topic.ts";

/** "What is the usual dose of zinc?", "upper limit of vitamin A", "tell me about ashwagandha" */
export const facts: Rule = {
  id: "facts",
  fits: ({ now: { question } }) =>
    /\b(dose|doses|dosage|dosing|how much|upper limit|maximum|side effects?|cautions?|precautions?|what is|what are|tell me about)\b/i.test(
      question,
    ) && !/\bwhat (is|are) (you|your|this)\b/i.test(question),
  *steps(scene) {
    const [name] = things(scene).names;
    if (name === undefined) throw new PlanStopped("Which supplement do you mean?");
    const { products } = need(
      yield* ask("product_search", { query: name, limit: 10 }),
      "product search",
      Products,
    ).data;
    const { literal, list } = naming(products, name);
    const first = list[0];
    if (first === undefined) return `I found nothing in the catalog about ${name}.`;
    const typical = Array.isArray(first.typicalAdultDose) ? first.typicalAdultDose[0] : first.typicalAdultDose;
    const limit = Array.isArray(first.upperLimit) ? first.upperLimit[0] : first.upperLimit;
    const lines = [
      typical
        ? `- Usual adult dose: ${typical.min ?? "?"} to ${typical.max ?? "?"} ${typical.unit ?? ""}${typical.basis ? ` (${typical.basis})` : ""}`
        : "",
      limit?.value
        ? `- Upper limit: ${limit.value} ${limit.unit ?? ""}${limit.authority ? ` (${limit.authority})` : ""}`
        : "",
      ...(first.cautions ?? []).map((caution) => `- Caution: ${caution}`),
      `- In the catalog: ${list.map((each) => `${each.name}${each.brand ? ` (${each.brand})` : ""}`).join(", ")}`,
    ].filter((line) => line !== "");
    const head = literal ? `What the catalog records for ${name}, from` : `The catalog's closest entry to ${name} is`;
    return `${head} “${first.name}”:\n\n${lines.join("\n")}`;
  },
};
