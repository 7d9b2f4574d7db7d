import type { Plan } from "../data.ts";

/** A plan as the platform returned it. */
export function planAnswer(plan: Plan): string {
  const items = (plan.items ?? []).map(
    ({ name, brand, dosing }) => `- ${name ?? "item"}${brand ? ` by ${brand}` : ""}${dosing ? `: ${dosing}` : ""}`,
  );
  const lifestyle = (plan.lifestyle ?? []).map(({ title, detail }) => `- ${title ?? ""}${detail ? `: ${detail}` : ""}`);
  const labs = (plan.labs ?? []).map(({ name, id }) => `- Lab: ${name ?? id ?? ""}`);
  const head = `**${plan.title ?? "Plan"}**${plan.patientName ? ` for ${plan.patientName}` : ""} (${plan.status ?? "draft"}, ${plan.id})`;
  const lines = [...items, ...lifestyle, ...labs];
  return `${head}\n${lines.length === 0 ? "- empty" : lines.join("\n")}`;
}
