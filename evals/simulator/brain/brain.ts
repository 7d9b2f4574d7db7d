import { aboutFiles } from "./answers/files.ts";
import { soFar, summary } from "./answers/summary.ts";
import { condensed, readTranscript } from "./answers/transcript.ts";
import type { Conversation } from "./conversation.ts";
import type { Reply } from "./reply.ts";
import { RULES } from "./rules/all.ts";
import { FALLBACK } from "./rules/fallback.ts";
import { outcomeNow, readScene, type Scene } from "./scene.ts";
import { PlanStopped, type Rule } from "./steps.ts";
import { isFollowUp } from "./topic.ts";

/** A plan that has made this many calls in one exchange ends with what it has. */
const CALL_LIMIT = 24;

/** Decides what the model answers to one request. Pure: equal requests get equal replies. */
export function decide(conversation: Conversation): Reply {
  const scene = readScene(conversation);
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
  if (isFollowUp(scene.now.question)) {
    for (let at = scene.past.length - 1; at >= 0; at -= 1) {
      const earlier = scene.past[at];
      if (earlier === undefined) continue;
      const then: Scene = { ...scene, now: earlier, past: scene.past.slice(0, at) };
      const rule = RULES.find((each) => each.fits(then));
      if (rule !== undefined) return { rule, seen: { ...scene, follows: earlier } };
    }
  }
  return { rule: FALLBACK, seen: scene };
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
          text: "",
          calls,
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
