import { deedLine } from "../answers/deeds.ts";
import { andList } from "../answers/phrases.ts";
import { planAnswer } from "../answers/plans.ts";
import { Plans } from "../data.ts";
import { lastProposal } from "../proposal.ts";
import type { Scene } from "../scene.ts";
import { ask, have, PlanStopped, type Rule, type Steps } from "../steps.ts";
import type { Closing, Deed } from "../told.ts";

/** A decision without a request to go on with: the answer comes from what the system reports. */
export const decided: Rule = {
  id: "a decision",
  fits: ({ now: { opened, question } }) =>
    opened !== null && (opened.end.how === "accepted" || opened.end.how === "dismissed" || question === ""),
  *steps(scene) {
    const { opened } = scene.now;
    if (opened === null) throw new PlanStopped("There is nothing to decide.");
    return opened.end.how === "accepted" ? yield* accepted(scene, opened.end.changed) : answer(scene, opened);
  },
};

function answer(scene: Scene, { end, asked, prompt }: Closing): string {
  switch (end.how) {
    case "dismissed":
      return asked === "plan_proposal" ? dismissedPlan(end.reason) : dismissedQuestion(scene, prompt, end.reason);
    case "chosen":
      return `You chose ${andList(end.chosen.map(({ label }) => label))}. What should I do with it?`;
    case "accepted":
    case "expired":
    case "withdrawn":
      return `“${prompt}” was left open. Nothing was decided.`;
  }
}

function* accepted(scene: Scene, changed: boolean): Steps<string> {
  const deeds = scene.now.told.filter((each): each is Deed => each.kind !== "closing");
  const stored = deeds.find((deed) => deed.kind === "stored");
  if (stored !== undefined) {
    const how = stored.change === "created" ? "is stored as a new draft" : "is in the draft now";
    return [
      `The plan “${stored.title}” for ${stored.patient} ${how} (${stored.plan})${changed ? ", with your changes" : ""}.`,
      `It holds: ${stored.items}.`,
      ...(stored.left === undefined ? [] : [`Left as the draft held it before: ${stored.left}.`]),
      "It is a draft: review it before you share it.",
    ].join("\n");
  }
  const unchanged = deeds.find((deed) => deed.kind === "unchanged");
  if (unchanged !== undefined) return `You accepted the plan. ${deedLine(unchanged)}`;
  const failed = deeds.find((deed) => deed.kind === "not_stored");
  if (failed !== undefined) {
    const why = failed.why.replace(/ You may propose it again\.$/, "");
    const then = why === failed.why ? "" : "\nSay “propose it again” and I put it to you once more.";
    return `You accepted the plan, but the system could not store it: ${why}${then}`;
  }
  const patientId = lastProposal(scene)?.args.patient_id;
  const nothing = "You accepted the plan. I have no report that it is stored.";
  if (patientId === undefined || !scene.tools.has("treatment_plan_get")) return nothing;
  const plans = have(yield* ask("treatment_plan_get", { patientId }), Plans)?.plans ?? [];
  return [nothing, ...(plans.length === 0 ? [] : ["These plans are there:", ...plans.map(planAnswer)])].join("\n\n");
}

const dismissedPlan = (reason: string): string =>
  reason === ""
    ? "Understood: the plan is dropped and nothing was saved.\nTell me what should be different (without an item, another dose, another product) and I propose it again."
    : `Understood: the plan is dropped and nothing was saved. Your reason: “${reason}”.\nTell me what to change in it (without an item, another dose, another product) and I propose it again.`;

function dismissedQuestion(scene: Scene, prompt: string, reason: string): string {
  const asker = scene.past.findLast(({ done }) => done.some(({ args }) => args["question"] === prompt));
  const request = asker?.question ? ` I did not go on with “${asker.question}”.` : "";
  return `Understood, I leave that open${reason === "" ? "" : ` (“${reason}”)`}.${request} Tell me when you want to.`;
}
