import { Interactions, nameOf, type Patient, Products } from "../data.ts";
import { ask, askAll, have, type Steps } from "../steps.ts";
import type { Clause, Stance } from "./notes.ts";

const MOST_ITEMS = 5;
const MOST_NAMES = 30;
const MOST_SEARCHES = 12;
/** An answer to a clarification. */
export const NONE = "No supplement for now";

/** A supplement that the notes speak of, with all they say of it. */
export type Meant = {
  readonly id: string;
  readonly name: string;
  readonly stance: Stance;
  /** What is said of it, the telling piece first. */
  readonly said: readonly Clause[];
};

const WEIGHT: Readonly<Record<Stance, number>> = { against: 3, wanted: 2, open: 1, mentioned: 0 };

/** What the pieces name, in the platform's own words: it says what it understood each as. */
export function* recognised(clauses: readonly Clause[], patient: Patient): Steps<readonly Meant[]> {
  const telling = [...clauses].sort((a, b) => WEIGHT[b.stance] - WEIGHT[a.stance]);
  const texts = [...new Set(telling.map(({ text }) => text).filter((text) => text.length > 2))].slice(0, MOST_NAMES);
  if (texts.length === 0) return [];
  const medications = (patient.medications ?? []).map(({ name }) => name);
  const items = texts.length > 1 ? texts : [...texts, medications[0] ?? "supplement"];
  const check = have(yield* ask("interaction_check", { items }), Interactions);
  const named = check === null ? yield* bySearch(texts) : supplementsIn(check);
  const byId = new Map<string, Meant>();
  for (const clause of clauses)
    for (const { id, name } of named.filter(({ input }) => input === clause.text)) {
      const known = byId.get(id);
      const said = [...(known?.said ?? []), clause].sort((a, b) => WEIGHT[b.stance] - WEIGHT[a.stance]);
      byId.set(id, { id, name, stance: said[0]?.stance ?? "mentioned", said });
    }
  return [...byId.values()];
}

/** All that is said of a supplement in favour: its amounts, forms and times. */
export const inFavour = ({ id, said }: Meant, all: readonly Meant[]): string =>
  said
    .filter(({ stance }) => stance === "wanted")
    .map(({ piece, about }) => (isAlone(id, piece, all) ? piece : about))
    .join("; ");

/** Whether the notes want its level seen again. */
export const isMonitored = ({ said }: Meant): boolean =>
  said.some(({ piece }) => /\b(?:re)?check|\brepeat\b/i.test(piece));

const isAlone = (id: string, piece: string, all: readonly Meant[]): boolean =>
  !all.some((other) => other.id !== id && other.said.some((clause) => clause.piece === piece));

type Named = { readonly input: string; readonly id: string; readonly name: string };

const supplementsIn = ({ matched }: { readonly matched?: Interactions["matched"] }): readonly Named[] =>
  (matched ?? []).flatMap(({ input, kind, id, name }) =>
    kind === "supplement" && id ? [{ input, id, name: name ?? id }] : [],
  );

/** Without the check: a product's supplement whose name stands in the piece. */
function* bySearch(texts: readonly string[]): Steps<readonly Named[]> {
  const few = texts.slice(0, MOST_SEARCHES);
  const outcomes = yield* askAll(...few.map((query) => ({ tool: "product_search", args: { query, limit: 3 } })));
  return few.flatMap((input, at) => {
    const data = outcomes[at] === undefined ? null : have(outcomes[at], Products);
    const all = (data?.products ?? []).flatMap(({ supplements }) => supplements ?? []);
    const said = all.filter((each) => input.toLowerCase().includes(shortName(nameOf(each)).toLowerCase()));
    return [...new Map(said.map((each) => [idOf(each), { input, id: idOf(each), name: nameOf(each) }])).values()];
  });
}

const idOf = (thing: Parameters<typeof nameOf>[0]): string =>
  typeof thing === "string" ? thing : (thing.id ?? thing.name ?? "");
/** "Thiamin (vitamin B1)" is called thiamin. */
export const shortName = (name: string): string => name.replace(/\s*\([^)]*\)/g, "");

/** Wanted ones in the order of the notes; of a sentence that wants one at a time, the first. */
export function chosen(meant: readonly Meant[]): readonly Meant[] {
  const taken = new Set<number>();
  return meant
    .filter(({ stance, said }) => {
      const [first] = said;
      if (stance !== "wanted" || first === undefined) return false;
      if (!first.isChoice) return true;
      if (taken.has(first.sentence)) return false;
      taken.add(first.sentence);
      return true;
    })
    .slice(0, MOST_ITEMS);
}

/** "Question: answer" of an earlier clarification, or a wish: what it names is wanted. */
export function wishesOf(goals: string): readonly Clause[] {
  return goals
    .split("\n")
    .map((line) => line.replace(/^.*\?:?\s+/, "").trim())
    .filter((line) => line !== "" && line !== NONE)
    .map((line, at) => ({
      text: line,
      about: line,
      piece: line,
      stance: "wanted",
      sentence: 1_000 + at,
      isChoice: false,
    }));
}
