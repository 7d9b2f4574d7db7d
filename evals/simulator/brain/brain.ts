import { aboutFiles } from "./answers/files.ts";
import { soFar, summary } from "./answers/summary.ts";
import { condensed, readTranscript } from "./answers/transcript.ts";
import type { Conversation } from "./conversation.ts";
import { readScene } from "./read-scene.ts";
import type { Reply } from "./reply.ts";
import { RULES } from "./rules/all.ts";
import { FALLBACK } from "./rules/fallback.ts";
import { outcomeNow, type Scene } from "./scene.ts";
import { PlanStopped, type Rule } from "./steps.ts";
import { planAgent } from "./subagents/plan-agent.ts";
import { researchAgent } from "./subagents/research-agent.ts";
import { whole } from "./subagents/whole.ts";
import { isFollowUp, topicOf } from "./topic.ts";

/** A plan that has made this many calls in one exchange ends with what it has. */
const CALL_LIMIT = 24;

const SUBAGENTS: readonly Rule[] = [researchAgent, planAgent];

/** Decides what the model answers to one request. Pure: equal requests get equal replies. */
export function decide(conversation: Conversation): Reply {
  const scene = readScene(conversation);
  // Whoever may finish such a task is the sub-agent that works on it.
  const task = SUBAGENTS.find((rule) => rule.fits(scene));
  if (task !== undefined) return run(task, whole(scene));
  const transcript = scene.tools.size === 0 ? readTranscript(scene.now.question) : null;
  if (transcript !== null) return says("transcript", condensed(transcript));
  if (scene.tools.size === 0 && scene.now.done.length === 0) return says("summary", summary(scene));
  const { files, question } = scene.now;
  if (files.length > 0 && question === "") return says("a file", `${aboutFiles(files)} What would you like to know?`);
  const { rule, seen } = choose(scene);
  const reply = run(rule, seen);
  if (files.length === 0 || reply.calls.length > 0) return reply;
  return { ...reply, text: `${aboutFiles(files)}\n\n${reply.text}` };
}

/** The first rule that fits the question; a bare follow-up takes the rule of the question that it follows. */
function choose(scene: Scene): { readonly rule: Rule; readonly seen: Scene } {
  const direct = RULES.find((rule) => rule.fits(scene));
  if (direct !== undefined) return { rule: direct, seen: scene };
  if (isFollowUp(scene.now.question) || saysWho(scene)) {
    for (let at = scene.past.length - 1; at >= 0; at -= 1) {
      const earlier = scene.past[at];
      // A decision is no question that anything could follow.
      if (earlier === undefined || (earlier.opened !== null && earlier.answers.length === 0)) continue;
      const then: Scene = { ...scene, now: earlier, past: scene.past.slice(0, at) };
      const rule = RULES.find((each) => each.fits(then));
      if (rule !== undefined) return { rule, seen: { ...scene, follows: earlier } };
    }
  }
  return { rule: FALLBACK, seen: scene };
}

/** The picker was passed over and the patient named in words: that goes on with what it was asked for. */
function saysWho({ now: { question, told } }: Scene): boolean {
  const { person, names } = topicOf(question);
  const isAsked = told.some((each) => each.kind === "closing" && each.asked === "patient_picker");
  return isAsked && person.kind === "named" && names.length === 0;
}

/** Runs the plan as far as the request's results carry it. */
function run(rule: Rule, scene: Scene): Reply {
  const plan = rule.steps(scene);
  try {
    let step = plan.next();
    while (step.done !== true) {
      const wanted = step.value;
      const outcomes = wanted.map(
        (call) =>
          outcomeNow(scene, call) ??
          (scene.tools.has(call.tool) || scene.tools.size === 0 ? null : { kind: "no_tool" as const }),
      );
      const calls = wanted.filter((_, at) => outcomes[at] === null);
      if (calls.length > 0) {
        if (scene.tools.size === 0 || scene.now.done.length + calls.length > CALL_LIMIT)
          return says(rule.id, soFar(scene));
        return {
          thought: `The question is about "${rule.id}". Next: ${calls.map(({ tool }) => tool).join(", ")}.`,
          text: calls.flatMap(({ say }) => say ?? []).join("\n\n"),
          calls: calls.map(({ tool, args }) => ({ tool, args })),
        };
      }
      step = plan.next(outcomes.flatMap((outcome) => outcome ?? []));
    }
    return says(rule.id, step.value);
  } catch (error) {
    if (error instanceof PlanStopped) return says(rule.id, error.sentence);
    throw error;
  }
}

const says = (id: string, text: string): Reply => ({
  thought: `The question is about "${id}". I have what I need and answer from the results.`,
  text,
  calls: [],
});
