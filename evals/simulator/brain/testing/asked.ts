import { type AskedInteraction, resolutionText } from "../../../../machines/conversation/interactions.ts";
import type { Resolution } from "../../../../machines/protocol/commands.ts";
import type { InteractionKind, InteractionOption } from "../../../../machines/protocol/interactions.ts";
import { storedText } from "../../../../tools/plan-writing.ts";
import type { Call } from "../reply.ts";
import { type FakeTool, kinds, loadSkill, PAUSES, patient, product, type Talk, type Told, talk } from "../testing.ts";

export const ID = "00000000-0000-4000-8000-000000000007";
export const orla = patient("p-1", "Orla Quensby", { conditions: ["glimache"] });
const bram = patient("p-2", "Bram Oster");
export const CONTEXT = '<context><patient id="p-1" name="Orla Quensby"/></context>';
export const named = (name: string, at = name.toLowerCase().replaceAll(" ", "-")) =>
  product(at, name, { supplements: [{ id: at, name }], ingredients: [{ supplementId: at, amount: 100, unit: "mg" }] });

export function scene(over: Record<string, FakeTool> = {}) {
  const tools: Record<string, FakeTool> = {
    load_skill: loadSkill,
    patient_search: () => ({ patients: [orla] }),
    patient_get: ({ id }) => ({ patient: [orla, bram].find((each) => each.id === id) ?? null }),
    visit_notes: () => ({ visitNotes: [] }),
    depletion_check: () => ({ depletions: [{ drug: "zorvane", nutrient: "limroot", advice: "Replace it." }] }),
    evidence_search: () => ({ evidence: [{ id: "e", title: "T", supplements: ["quathorn"] }] }),
    product_search: ({ query }) => ({ products: [named(String(query))] }),
    interaction_check: kinds(["zorvane"]),
    recommend_supplements: () => "shown",
    treatment_plan_get: () => ({ plans: [] }),
    treatment_plan_create: () => ({ plan: { id: "plan-9", patientId: "p-1", items: [] } }),
    treatment_plan_update: () => ({ plan: { id: "plan-9", patientId: "p-1", items: [] } }),
    ask_question: () => PAUSES,
    propose_plan: () => PAUSES,
    ...over,
  };
  for (const [name, tool] of Object.entries(over)) if (tool === absent) delete tools[name];
  return talk(tools, ["propose-plan"]);
}
export const absent: FakeTool = () => "absent";

/** The texts as the agent writes them, for what the brain itself asked last. */
export const pendingOf = (chat: Talk, kind: InteractionKind, options: readonly InteractionOption[] = []) => {
  const { args } = callOf(chat, kind === "plan_proposal" ? "propose_plan" : "ask_question");
  const asked: AskedInteraction = { kind, prompt: String(args["question"] ?? args["summary"]) };
  return { id: ID, revision: 1, schema: {}, ...asked, options: [...options] };
};
export const callOf = (chat: Talk, tool: string): Call => {
  const calls = chat.messages.flatMap((message) => (message.from === "model" ? message.calls : []));
  const call = calls.findLast((each) => each.tool === tool);
  if (call === undefined) throw new TypeError(`the brain did not call ${tool}`);
  return call;
};
export const resolved = (
  chat: Talk,
  kind: InteractionKind,
  resolution: Resolution,
  options?: readonly InteractionOption[],
) => resolutionText(pendingOf(chat, kind, options), resolution);
export const chose = (...selected: string[]): Resolution => ({ kind: "answered", selected });
export const accepted: Resolution = { kind: "accepted" };
export const names = ({ calls }: Told) => calls.map(({ tool }) => tool);
export const dosings = (chat: Talk) =>
  (callOf(chat, "propose_plan").args["items"] as { variant_id: string; dosing: string }[]).map(
    ({ variant_id, dosing }) => `${variant_id}: ${dosing}`,
  );
export const picked: readonly InteractionOption[] = [{ id: "p-1", label: "Orla Quensby, born 1970-01-01" }];
export const stored = (change: "created" | "updated") =>
  storedText({
    ...{ change, plan_id: "plan-9", title: "Plan for Orla Quensby", patient_id: "p-1", patient_name: "Orla Quensby" },
    items: [
      {
        ...{ item_id: "i", product_id: "prd", variant_id: "var", name: "Limroot", brand: null },
        dosing: "2 servings daily",
      },
    ],
  });
