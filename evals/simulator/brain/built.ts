import { Built, type Patient, Unclear } from "./data.ts";
import type { Offer } from "./proposal.ts";
import type { Scene } from "./scene.ts";
import { ask, have, type Steps } from "./steps.ts";
import { topic, topicOf } from "./topic.ts";

type FromNotes =
  | { readonly kind: "built"; readonly offer: Offer }
  | { readonly kind: "said"; readonly text: string }
  /** No plan from here: the own way, with `remarks` in front. */
  | { readonly kind: "none"; readonly remarks: readonly string[] };

const GOALS_CHARACTERS = 2_000;
const NOTES_CHARACTERS = 20_000;

/** A plan from notes is the plan builder's work, where there is one. What it asked and the user answered goes to it again. */
export function* builtFromNotes(
  scene: Scene,
  patient: Patient,
  { request, pasted }: { readonly request: string; readonly pasted: string },
): Steps<FromNotes> {
  const isMeant = /\b(notes?|visit)\b/i.test(request) || pasted !== "";
  if (!isMeant || !scene.tools.has("build_plan") || scene.now.context.planId !== null)
    return { kind: "none", remarks: [] };
  const answers = scene.now.answers.filter(({ asked }) => asked === "single_choice");
  const refusal = answers.find(({ chosen }) => chosen.some(({ label }) => /^(no|none)\b/i.test(label)));
  if (refusal !== undefined)
    return { kind: "said", text: `Then I propose no plan with supplements for ${patient.name}. Nothing was saved.` };
  const wished = scene.follows === null ? topicOf(request).names : topic(scene).names;
  const names = wished.filter((name) => !patient.name.toLowerCase().includes(name.toLowerCase()));
  const goals = [
    ...answers.map(
      ({ prompt, chosen, added }) =>
        `${prompt} ${[...chosen.map(({ label }) => label), added].filter((part) => part !== "").join(", ")}`,
    ),
    ...names,
  ].join("\n");
  const outcome = yield* ask("build_plan", {
    patient_id: patient.id,
    ...(pasted !== "" && { notes: pasted.slice(0, NOTES_CHARACTERS) }),
    ...(goals !== "" && { goals: goals.slice(0, GOALS_CHARACTERS) }),
  });
  if (outcome.kind === "error") return { kind: "none", remarks: [`The plan builder did not work: ${outcome.reason}`] };
  const unclear = have(outcome, Unclear);
  if (unclear !== null)
    return {
      kind: "said",
      text: ["The notes leave something open:", ...unclear.needs_clarification.map((one) => `- ${one}`)].join("\n"),
    };
  const built = have(outcome, Built);
  // A question that was put to the user ends the turn: this is not read.
  if (built === null) return { kind: "said", text: "The plan builder asks you something." };
  const warnings = built.warnings ?? [];
  const summary = `A plan for ${patient.name} from the notes, checked against chart and catalogue.`;
  return {
    kind: "built",
    offer: {
      args: { ...built.propose_plan, summary: summary.slice(0, 500) },
      say: [
        `This is what I propose for ${patient.name}, built from the notes.`,
        ...(warnings.length === 0 ? [] : [["To mind:", ...warnings.map((one) => `- ${one}`)].join("\n")]),
      ],
    },
  };
}
