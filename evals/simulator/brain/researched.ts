import { andList, plural } from "./answers/phrases.ts";
import { Research } from "./data.ts";
import type { Scene } from "./scene.ts";
import { ask, have, type Steps } from "./steps.ts";
import { topicOf } from "./topic.ts";

type Researched = {
  /** Undefined where nothing was researched: then the own search answers. */
  readonly answer?: string;
  /** What to say in front of another answer: why there is none from here. */
  readonly failure: readonly string[];
};

const WIDE = /\b(evidence|research|literature|stud(?:y|ies)|meta-?analys\w+)\b/i;

/** A question about the evidence as a whole goes to the research agent, where there is one; a small one is searched for at once. */
export function* researched(scene: Scene, names: readonly string[], purposes: readonly string[]): Steps<Researched> {
  const asked = scene.follows === null ? scene.now.question : "What does the evidence say?";
  if (!scene.tools.has("spawn_research_agent") || !WIDE.test(asked)) return { failure: [] };
  const outcome = yield* ask("spawn_research_agent", { question: fullQuestion(scene, names, purposes) });
  if (outcome.kind === "error") return { failure: [`The deeper research did not work: ${outcome.reason}`] };
  const found = have(outcome, Research);
  if (found === null) return { failure: ["The deeper research gave nothing that I can read."] };
  const { sources, planner_reflection: reflection } = found;
  const about = [andList(names), andList(purposes)].filter((part) => part !== "").join(" for ");
  if (sources.length === 0)
    return { answer: `The research found nothing on ${about} that answers the question. ${reflection}`, failure: [] };
  const lines = sources.map(
    ({ id, title, year, finding }) => `- *${title}*${year ? ` (${year})` : ""} [${id}]${finding ? `: ${finding}` : ""}`,
  );
  const head = `The research on ${about} rests on ${plural(sources.length, "source")}:`;
  return { answer: [head, lines.join("\n"), reflection].join("\n\n"), failure: [] };
}

/** The user's own words where they say it all; put together where it follows an earlier question or names a patient. */
function fullQuestion(scene: Scene, names: readonly string[], purposes: readonly string[]): string {
  const { person, names: own } = topicOf(scene.now.question);
  const isWhole = scene.follows === null && person.kind === "nobody" && own.length > 0;
  if (isWhole) return scene.now.question.slice(0, 1_000);
  const aim = purposes.length === 0 ? "" : ` for ${purposes.join(" and ")}`;
  return `What does the evidence say about ${names.join(" and ") || "supplements"}${aim}?`.slice(0, 1_000);
}
