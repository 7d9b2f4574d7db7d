import { changeIn } from "../change.ts";
import { type Changed, changed, mentioned } from "../changes.ts";
import { OnePatient } from "../data.ts";
import { checked } from "../plan-safety.ts";
import { type LastProposal, lastProposal, type ProposalArgs, productOf } from "../proposal.ts";
import type { Scene } from "../scene.ts";
import { ask, need, PlanStopped, type Rule, type Steps } from "../steps.ts";
import { offer } from "./propose.ts";

/** "Make it 200 mg", "without the zinc", a dismissal with such a reason: the proposal is put again, changed. */
export const changeProposal: Rule = {
  id: "a change to the proposal",
  fits: (scene) => {
    const last = lastProposal(scene);
    return scene.tools.has("propose_plan") && last !== null && isMeant(scene, last);
  },
  *steps(scene) {
    const last = lastProposal(scene);
    const change = changeIn(scene.now.question);
    if (last === null || change === undefined) throw new PlanStopped("There is no proposal to change.");
    const { revises: _, expires_in_minutes: __, ...before } = last.args;
    const wanted = yield* changed(scene, scene.now.question, change, last.args);
    const cautions = yield* cautionsFor(last.args, wanted);
    const notes = [typeof before["notes"] === "string" ? before["notes"] : "", ...cautions].filter(
      (text) => text !== "",
    );
    return yield* offer(scene, {
      args: {
        ...before,
        title: wanted.title,
        items: wanted.items,
        ...(notes.length > 0 && { notes: notes.join("\n") }),
        // What was accepted is decided: another proposal is a new one.
        ...(last.id !== null && last.state !== "accepted" && { revises: last.id }),
      },
      say: [`The proposal again: ${wanted.said}.`],
    });
  },
};

function isMeant(scene: Scene, last: LastProposal): boolean {
  const { question, answers } = scene.now;
  const change = changeIn(question);
  if (change === undefined || (last.state === "accepted" && !last.failed)) return false;
  if (last.isFresh || answers.length > 0) return !(change.kind === "add" && /\bdraft\b/i.test(question));
  if (/\bpropos/i.test(question)) return true;
  if (change.kind === "add") return false;
  const known = last.args.items.map((item) => ({ item, product: productOf(scene, item) }));
  return /\b(it|that|them|plan)\b/i.test(question) || mentioned(known, question).length > 0;
}

/** A product that was not checked before is checked before it is proposed. */
function* cautionsFor({ patient_id }: ProposalArgs, { added }: Changed): Steps<readonly string[]> {
  if (added.length === 0) return [];
  const { patient } = need(yield* ask("patient_get", { id: patient_id }), "patient record", OnePatient).data;
  if (patient === null) throw new PlanStopped("The patient of the proposal was not found in the records.");
  const items = added.map(({ name, product, variantId }) => ({
    ...{ name, why: "You asked for it." },
    choice: { product, variantId, dosing: "", reasons: [] },
  }));
  const { kept, remarks, cautions } = yield* checked(patient, items, []);
  if (kept.length < items.length)
    throw new PlanStopped([...remarks, "I did not change the proposal. Nothing was saved."].join("\n\n"));
  return cautions;
}
