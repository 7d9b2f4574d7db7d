import { andList, plural } from "../answers/phrases.ts";
import { Evidence, nameOf, type Study } from "../data.ts";
import type { Scene } from "../scene.ts";
import { ask, askAll, have, type Rule, type Steps } from "../steps.ts";
import { isStopWord, isUnit } from "../stop-words.ts";
import { topicOf, withPersonAsName } from "../topic.ts";
import { quotedIn } from "./whole.ts";

const MOST_QUERIES = 6;
const MOST_CHOSEN = 8;
/** Studies of the same thing for something else are worth telling where there is none for what was asked. */
const FEW = 3;
/** So many hits that all have one supplement are no chance. */
const SURE = 3;
const REFLECTION_CHARACTERS = 800;

/** The research agent: searches with the question's words, then with words of what it read, and chooses by how directly a study fits. */
export const researchAgent: Rule = {
  id: "a research task",
  fits: ({ tools }) => tools.has("finish_research"),
  *steps(scene) {
    const question = quotedIn(scene.now.question, /Research this question:/) ?? scene.now.question;
    const about = aboutOf(question);
    const first = yield* searchAll(scene, firstQueries(about, question));
    const second = yield* searchAll(scene, nextQueries(about, first));
    const read = [...first, ...second];
    const studies = [...new Map(read.flatMap(({ found }) => found).map((study) => [study.id, study])).values()];
    const rated = choose(studies, about, read);
    yield* ask("finish_research", {
      selected_ids: rated.map(({ study }) => study.id),
      planner_reflection: reflection(about, read, studies.length, rated),
    });
    return "The research is done.";
  },
};

type About = { readonly names: readonly string[]; readonly purposes: readonly string[] };
type Searched = { readonly query: string; readonly found: readonly Study[] };
type Rated = { readonly study: Study; readonly isDirect: boolean; readonly score: number };

function aboutOf(question: string): About {
  const topic = topicOf(question);
  return { names: withPersonAsName(topic), purposes: topic.purposes };
}

const unique = (texts: readonly string[]): readonly string[] => [
  ...new Set(texts.filter((text) => text.trim() !== "")),
];

function firstQueries({ names, purposes }: About, question: string): readonly string[] {
  const all = [...names, ...purposes].join(" ");
  const alone = names.length + purposes.length > 1 ? [...names.slice(0, 2), purposes.join(" ")] : [];
  return unique([all === "" ? question.slice(0, 200) : all, ...alone]);
}

/** Refined by what came back: the words that the fitting studies use of their outcomes and of whom they studied. */
function nextQueries(about: About, read: readonly Searched[]): readonly string[] {
  const subject = about.names[0] ?? about.purposes[0];
  if (subject === undefined) return [];
  const studies = read.flatMap(({ found }) => found);
  const direct = studies.filter((study) => fits(study, about.purposes));
  const telling = direct.length > 0 ? direct : studies;
  const asked = new Set(words([...about.names, ...about.purposes].join(" ")));
  const outcomes = frequent(
    telling.map(({ outcome, title }) => `${outcome ?? ""} ${title}`),
    asked,
  );
  const people = frequent(
    telling.map(({ population }) => population ?? ""),
    asked,
  );
  const more = [
    [subject, ...outcomes.slice(0, 2)],
    [...about.purposes.slice(0, 1), subject, ...people.slice(0, 1)],
    [subject, "adverse", "safety"],
  ].map((parts) => [...new Set(parts)].join(" "));
  const before = new Set(read.map(({ query }) => query));
  return unique(more)
    .filter((query) => !before.has(query))
    .slice(0, Math.max(0, MOST_QUERIES - read.length));
}

function* searchAll(scene: Scene, queries: readonly string[]): Steps<readonly Searched[]> {
  if (!scene.tools.has("search_evidence") && scene.now.done.length === 0) return [];
  const outcomes = yield* askAll(...queries.map((query) => ({ tool: "search_evidence", args: { query } })));
  return queries.flatMap((query, at): readonly Searched[] => {
    const outcome = outcomes[at];
    const data = outcome === undefined ? null : have(outcome, Evidence);
    return data === null ? [] : [{ query, found: data.evidence }];
  });
}

const words = (text: string): readonly string[] => text.toLowerCase().match(/\p{L}[\p{L}\p{N}-]{2,}/gu) ?? [];

/** Words of several texts, by in how many they stand; at least two, where there are that many. */
function frequent(texts: readonly string[], known: ReadonlySet<string>): readonly string[] {
  const counts = new Map<string, number>();
  for (const text of texts)
    for (const word of new Set(words(text)))
      if (word.length > 3 && !known.has(word) && !isStopWord(word) && !isUnit(word))
        counts.set(word, (counts.get(word) ?? 0) + 1);
  const sorted = [...counts].sort((a, b) => b[1] - a[1]);
  const often = sorted.filter(([, count]) => count > 1);
  return (often.length > 0 ? often : sorted).map(([word]) => word);
}

/** Words that say what is meant only together with another. */
const VAGUE = /^(health|blood|function|support|levels?|status|symptoms?|problems?)$/;

/** "sleep" is said by "sleeping"; "insomnia" by itself. */
function says(text: string, phrase: string): boolean {
  const said = words(text);
  const all = words(phrase);
  const telling = all.filter((word) => !VAGUE.test(word));
  return (telling.length > 0 ? telling : all).some((word) =>
    said.some((each) => each.startsWith(word) || (each.length > 4 && word.startsWith(each))),
  );
}

const fits = ({ title, outcome, finding, population }: Study, phrases: readonly string[]): boolean =>
  phrases.length === 0 || phrases.some((phrase) => says([title, outcome, finding, population].join(" "), phrase));

const TYPES: readonly (readonly [RegExp, number])[] = [
  [/guideline|meta|systematic/i, 3],
  [/review/i, 2],
  [/rct|random|trial/i, 2],
  [/cohort|observational/i, 1],
];

function choose(studies: readonly Study[], about: About, read: readonly Searched[]): readonly Rated[] {
  const meant = about.names.map((name) => ({ name, ids: supplementsOf(name, read) }));
  const subjects = new Set(meant.flatMap(({ ids }) => ids));
  // A name that is no supplement of the index is what it is for; where none is, the first has to stand in the study itself.
  const [unknown] = subjects.size === 0 ? about.names : [];
  const aims = [
    ...about.purposes,
    ...meant.flatMap(({ name, ids }) => (ids.length === 0 && name !== unknown ? [name] : [])),
  ];
  const rated = studies.flatMap((study): readonly Rated[] => {
    const own = (study.supplements ?? []).map(nameOf);
    const isNamed =
      unknown === undefined ? subjects.size === 0 || own.some((each) => subjects.has(each)) : fits(study, [unknown]);
    const isFor = fits(study, aims);
    if (!isNamed || (!isFor && about.names.length === 0)) return [];
    const type = TYPES.find(([pattern]) => pattern.test(study.studyType ?? ""))?.[1] ?? 0;
    const inTitle = aims.some((aim) => says(`${study.title} ${study.outcome ?? ""}`, aim));
    return [{ study, isDirect: isFor, score: (isFor ? 10 : 0) + (inTitle ? 3 : 0) + type }];
  });
  const sorted = [...rated].sort((a, b) => b.score - a.score);
  const direct = sorted.filter(({ isDirect }) => isDirect);
  return direct.length > 0 ? direct.slice(0, MOST_CHOSEN) : sorted.slice(0, FEW);
}

/** The supplements that a name is in the index: what the hits of its own search all have. */
function supplementsOf(name: string, read: readonly Searched[]): readonly string[] {
  const found = read.find(({ query }) => query === name)?.found ?? [];
  const counts = new Map<string, number>();
  for (const id of found.flatMap(({ supplements }) => (supplements ?? []).map(nameOf)))
    counts.set(id, (counts.get(id) ?? 0) + 1);
  const literal = [...counts.keys()].filter((id) => says(name, id.replaceAll("-", " ")));
  if (literal.length > 0) return literal;
  const [top] = [...counts].sort((a, b) => b[1] - a[1]);
  return top !== undefined && found.length >= SURE && top[1] === found.length ? [top[0]] : [];
}

const WITHOUT_EFFECT =
  /\b(no (?:significant )?(?:difference|effect|benefit|improvement|change)|did not|not (?:better|differ|improve))/i;

function reflection(about: About, read: readonly Searched[], total: number, rated: readonly Rated[]): string {
  const subject =
    [andList(about.names), andList(about.purposes)].filter((part) => part !== "").join(" for ") || "the question";
  const looked = `${plural(read.length, "query").replace("querys", "queries")} gave ${plural(total, "study").replace("studys", "studies")}.`;
  if (rated.length === 0)
    return `Nothing in the index answers ${subject}: ${looked} That is not evidence against it.`.slice(
      0,
      REFLECTION_CHARACTERS,
    );
  const direct = rated.filter(({ isDirect }) => isDirect);
  const types = new Map<string, number>();
  for (const { study } of rated)
    types.set(study.studyType ?? "other", (types.get(study.studyType ?? "other") ?? 0) + 1);
  const against = rated.filter(({ study }) => WITHOUT_EFFECT.test(study.finding ?? "")).map(({ study }) => study.id);
  const parts = [
    `${direct.length} of ${rated.length} chosen studies are directly on ${subject}${direct.length < rated.length ? "; the others are indirect" : ""}.`,
    `Kinds: ${andList([...types].map(([type, count]) => `${count} ${type}`))}.`,
    against.length === 0
      ? "None of them reports a missing effect."
      : `A missing effect, or none on some outcome: ${andList(against)}${against.length < rated.length ? "; the studies disagree" : ""}.`,
    direct.length < FEW ? "That is little to rest on." : "Read sizes and populations before you generalise.",
    looked,
  ];
  return parts.join(" ").slice(0, REFLECTION_CHARACTERS);
}
