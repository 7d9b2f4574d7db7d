import { isPurpose, isStopWord } from "./stop-words.ts";

/** Whom a text speaks of. A `name` that is not `sure` may be a thing: a search decides. */
export type Person =
  | { readonly kind: "named"; readonly name: string; readonly sure: boolean }
  | { readonly kind: "shown" }
  | { readonly kind: "nobody" };

const CAP = "\\p{Lu}[\\p{L}\\p{M}'.\\-]*";
/** A name ends where its word ends: "Coenzyme Q10" is nobody called Coenzyme Q. */
const WHOLE = "(?![\\p{L}\\p{M}\\d])";
const LOW = "[\\p{L}][\\p{L}\\p{M}'\\-]+";
const OWNED =
  "medications?|meds|medicines?|drugs|plan|list|profile|chart|record|labs?|results|allergies|conditions|current|draft|regimen";

/** Words that often stand in the names of supplements and never in a person's. */
const THINGS =
  /\b(vitamin|oil|wort|root|acid|extract|tea|seed|bark|berry|rice|omega|st|red|green|black|milk|fish|magnesium|zinc|iron|calcium)\b/i;

/** Finds the person in a question by the form of the words; it knows no names. */
export function personIn(question: string): Person {
  const text = question.replace(/[’‘]/g, "'");
  const named =
    match(text, `\\b[Pp]atient(?:\\s+(?:named|called))?,?\\s+(${CAP}(?:\\s+${CAP}){0,3})`, true) ??
    match(text, `(${CAP}(?:\\s+${CAP}){0,3})'s\\s+(?:\\p{L}+\\s+)?(?:${OWNED})\\b`, true) ??
    match(text, `\\bfor\\s+(${CAP}(?:\\s+${CAP}){1,3})${WHOLE}`, true) ??
    match(text, `\\b(?:to|of|about|does|can|should|may|is|with|give)\\s+(${CAP}(?:\\s+${CAP}){1,3})${WHOLE}`, false) ??
    match(text, `(?<!\\p{L})(${CAP}(?:\\s+${CAP}){1,3})${WHOLE}`, false) ??
    match(text, `\\b(?:for|about)\\s+(${CAP})\\s*[.?!]?$`, false) ??
    lowerCase(text);
  if (named !== undefined) return named;
  return /\b(she|he|her|hers|him|his|their)\b|\b(my|this|the|our) (patient|client)('s)?\b/i.test(text)
    ? { kind: "shown" }
    : { kind: "nobody" };
}

function match(text: string, pattern: string, sure: boolean): Person | undefined {
  for (const [, found = ""] of text.matchAll(new RegExp(pattern, "gu"))) {
    const words = found.replace(/'s$/, "").replace(/[.]$/, "").split(/\s+/);
    while (words[0] !== undefined && isStopWord(words[0].toLowerCase())) words.shift();
    const name = words.join(" ");
    const enough = sure || words.length > 1 || found === name;
    if (
      name !== "" &&
      enough &&
      !THINGS.test(name) &&
      !isPurpose(name) &&
      !words.some((word) => isStopWord(word.toLowerCase()))
    ) {
      return { kind: "named", name, sure };
    }
  }
  return undefined;
}

/** People type names in small letters too: "for marisol vantreight" at the end, "patient marisol vantreight". */
function lowerCase(text: string): Person | undefined {
  const found =
    new RegExp(`\\bpatient\\s+(${LOW}\\s+${LOW})`, "iu").exec(text)?.[1] ??
    new RegExp(`(${LOW}\\s+${LOW})'s\\s+(?:${OWNED})\\b`, "iu").exec(text)?.[1] ??
    new RegExp(`\\b(?:for|to)\\s+(${LOW}\\s+${LOW})\\s*[.?!]?$`, "iu").exec(text)?.[1];
  if (found === undefined || isPurpose(found) || THINGS.test(found)) return undefined;
  return found.split(/\s+/).some((word) => isStopWord(word.toLowerCase()))
    ? undefined
    : { kind: "named", name: found, sure: false };
}
