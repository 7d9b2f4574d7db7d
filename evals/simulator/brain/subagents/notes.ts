import { spelledOut } from "./shorthand.ts";

/** What a note says of a thing: to be given, not to be given, left to somebody or something, or only spoken of. */
export type Stance = "wanted" | "against" | "open" | "mentioned";

/** A piece of a note that may name something. `about` is what is said of it. */
export type Clause = {
  readonly text: string;
  readonly about: string;
  /** All between two semicolons: said of it as well, where it names nothing else. */
  readonly piece: string;
  readonly stance: Stance;
  /** Which sentence it stands in. */
  readonly sentence: number;
  /** The sentence wants one of several. */
  readonly isChoice: boolean;
};

const PLAN = /\b(?:plan|recommendations?)\s*:/gi;
const AGAINST =
  /\b(hold|held|avoid\w*|do not|don't|not|no|never|declined?|stop(?:ped)?|out|contraindicated|discontinue)\b/i;
const WISHES = "he|she|they|pt|patient|prefer\\w*|want\\w*|need\\w*|no|so";
const OPEN = new RegExp(
  `\\b(asks?|asked|questions?|optional|review\\w*|when|until|cleared|agrees?|call first|per (?!day|level|label|serving|week|wk)\\p{L}+|if (?!(?:${WISHES})\\b))`,
  "iu",
);
/** Said anywhere in a piece between semicolons: somebody else decides. */
const OTHERS = /\b(ask|agrees?|cleared|call first)\b/i;
const DISCUSS = /\bdiscuss\w*\b/i;
const TRIAL = /\b(trial|try)\b/i;
const WANTED =
  /\b(start|begin|trial|try|take|add|give|replacement|repletion|replete|continue|restart|(?<!may |can |could )shift|move|consider|recommend\w*|may help|ok|daily|nightly|once|twice|qd|bid|qod|qhs|at (?:hs|bedtime|night|breakfast|lunch|dinner|\d{1,2} ?[ap]m))\b/i;
const DOSE = /\d\s*(?:mg|mcg|µg|ug|g|iu)\b/i;
const COURSE = /\bfor\b.*\b\d+ ?(?:wk|weeks?|d|days?|mo|months?)\b/i;
/** Food and laboratory are no supplements. */
const FOOD = /\b(diet|dietary|intake|rich|foods?|antacid|same)\b/i;
const LABORATORY = /\b(?:re)?check\w*\b|\brepeat\b|\blabs\b/i;

/** The pieces of what a note plans, or of the whole note where it has no such part. */
export function clausesOf(note: string): readonly Clause[] {
  const start = [...note.matchAll(PLAN)].at(-1);
  const part = start === undefined ? note : note.slice(start.index + start[0].length);
  const plain = spelledOut(part.replace(/\([^)]*\)/g, " "));
  return plain.split(/\.(?:\s|$)|\n/).flatMap((sentence, at) => {
    const isTrial = TRIAL.test(sentence);
    const isChoice = /\bone at a time\b|\b(?:either|one) of\b/i.test(sentence);
    return sentence
      .split(";")
      .map((piece) => piece.trim())
      .filter((piece) => piece !== "")
      .flatMap((piece) => clausesIn(piece, isTrial).map((clause) => ({ ...clause, sentence: at, isChoice })));
  });
}

type Plain = Omit<Clause, "sentence" | "isChoice">;

/** "CoQ10: evidence mixed, can trial 100-200 mg": what is said behind a colon is said of what stands before it. */
function clausesIn(piece: string, isTrial: boolean): readonly Plain[] {
  const [, head, body] = /^([^:]{2,80}):\s+(.+)$/.exec(piece) ?? [];
  if (head === undefined || body === undefined) return partsOf(piece, piece, isTrial);
  const said = body.split(/,\s+/).map((part) => cueOf(part, isTrial));
  const stance =
    [...said].find((each) => each === "against" || each === "open") ?? said.find((each) => each !== undefined);
  const whole = withOthers(stance ?? "mentioned", piece);
  return [{ text: head, about: piece, piece, stance: whole }, ...partsOf(body, piece, isTrial)];
}

function partsOf(text: string, piece: string, isTrial: boolean): readonly Plain[] {
  const parts = text.split(/,\s+/);
  const cues = parts.map((part) => cueOf(part, isTrial));
  let before: Stance = "mentioned";
  return parts.map((part, at): Plain => {
    // "Niacin raises the risk, decline": a bare "no" behind a thing is about it.
    const next = cues[at] === undefined && cues[at + 1] === "against" ? bareNo(parts[at + 1] ?? "") : undefined;
    before = cues[at] ?? next ?? before;
    return { text: part, about: part, piece, stance: withOthers(before, piece) };
  });
}

const bareNo = (part: string): Stance | undefined =>
  /^(?:declined?|hold|avoid|no|out|do not take\b.*|not advised|stop)$/i.test(part.trim()) ? "against" : undefined;

const withOthers = (stance: Stance, piece: string): Stance =>
  stance === "wanted" && OTHERS.test(piece) ? "open" : stance;

function cueOf(part: string, isTrial: boolean): Stance | undefined {
  const isVerb = /\b(start|begin|give|add|cut)\b/i.test(part);
  if (FOOD.test(part) && !isVerb) return "mentioned";
  if (AGAINST.test(part)) return "against";
  if (OPEN.test(part)) return "open";
  if (DISCUSS.test(part)) return isTrial ? "wanted" : "open";
  if (WANTED.test(part)) return "wanted";
  if (LABORATORY.test(part)) return "mentioned";
  return DOSE.test(part) || COURSE.test(part) ? "wanted" : undefined;
}

/** An amount that a clause names, as a range: "100-200 mg", "3 g/d". */
export type Amount = { readonly low: number; readonly high: number; readonly unit: string };

export function amountIn(text: string): Amount | undefined {
  const [, low, high, unit] =
    /(\d[\d,]*(?:\.\d+)?)(?:\s*(?:-|–|to)\s*(\d[\d,]*(?:\.\d+)?))?\s*(mg|mcg|µg|ug|g|iu)\b/i.exec(text) ?? [];
  if (low === undefined || unit === undefined) return undefined;
  const number = (digits: string) => Number(digits.replaceAll(",", ""));
  return { low: number(low), high: number(high ?? low), unit: unit.toLowerCase() };
}

export const isLowDose = (text: string): boolean => /\b(?:low|small) dose\b|\bstart low\b/i.test(text);

/** How and when, in whole words: "with dinner", "at bedtime". */
export function timingIn(text: string): string {
  const [, hs] = /\b(?:at|q) ?(hs)\b/i.exec(text) ?? [];
  if (hs !== undefined) return "at bedtime";
  const found =
    /\b(?:with|w|at) (?:a )?((?:fat )?meal|food|water|breakfast|lunch|dinner|bedtime|\d{1,2} ?[ap]m)\b/i.exec(text);
  if (found === null) return /\bto bedtime\b/i.test(text) ? "at bedtime" : "";
  return found[0].replace(/^w /i, "with ").toLowerCase();
}
