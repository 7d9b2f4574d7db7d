import { isStopWord, isUnit } from "./stop-words.ts";

/**
 * The things that a text names, in order: "Can I take St John's wort together with cyclosporine?" gives "St John's wort" and
 * "cyclosporine". Names are what is left between the words of the language, so no list of drugs or supplements is needed.
 */
export function nouns(text: string): readonly string[] {
  const found: string[] = [];
  let run: string[] = [];
  const close = () => {
    if (run.length > 0) found.push(run.join(" "));
    run = [];
  };
  const list = joinLetters(tokens(text));
  for (const [at, token] of list.entries()) {
    const next = list[at + 1] ?? "";
    const word = /['’]s$/i.test(token) && (next === "" || isBreak(next)) ? token.slice(0, -2) : token;
    if (isBreak(word) || (isUnit(word) && isDose(list[at - 1] ?? ""))) close();
    else run.push(word);
  }
  close();
  const seen = new Set<string>();
  return found.filter((noun) => {
    const key = noun.toLowerCase();
    if (seen.has(key) || noun.length < 2) return false;
    seen.add(key);
    return true;
  });
}

/** The words that carry the meaning of a question, for a full-text search: everything but the small words. */
export function keywords(text: string, small: ReadonlySet<string>): string {
  return tokens(text)
    .filter((token) => /[\p{L}\p{N}]/u.test(token) && !small.has(token.toLowerCase().replace(/['’]s$/, "")))
    .join(" ");
}

/** `text` without the first occurrence of `part`. */
export function without(text: string, part: string | null): string {
  if (part === null) return text;
  const at = text.toLowerCase().indexOf(part.toLowerCase());
  return at < 0 ? text : `${text.slice(0, at)} , ${text.slice(at + part.length)}`;
}

function tokens(text: string): readonly string[] {
  const plain = text
    .normalize("NFC")
    .replace(/[’‘`]/g, "'")
    .replace(/[–—]/g, " , ")
    .replace(/\bst\.(?=\s)/gi, "St");
  return plain.match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}'\-./]*(?<![./'-])|[^\s\p{L}\p{N}'"]/gu) ?? [];
}

/** "vitamin K", "vitamin b 12", "omega 3", "coenzyme Q 10": a letter or number that belongs to the name before it. */
function joinLetters(list: readonly string[]): readonly string[] {
  const joined: string[] = [];
  for (const token of list) {
    const before = joined.at(-1) ?? "";
    const letter = /^vitamins?$/i.test(before) && /^[a-k]\d{0,2}$/i.test(token);
    const number = /^\d{1,2}$/.test(token) && /^(omega|vitamin [a-k]|coenzyme q|co-?q|mk)$/i.test(before);
    const coenzyme = /^coenzyme$/i.test(before) && /^q\d*$/i.test(token);
    // The one drug name that begins with a word of asking.
    const pill = /^combined$/i.test(before) && /^oral$/i.test(token);
    if (letter || number || coenzyme || pill) joined[joined.length - 1] = `${before.replace(/s$/, "")} ${token}`;
    else joined.push(token);
  }
  return joined;
}

const isDose = (token: string): boolean => /^\d[\d.,]*$/.test(token);

function isBreak(token: string): boolean {
  if (!/[\p{L}\p{N}]/u.test(token)) return true;
  if (isDose(token) || /^\d[\d.,]*(mg|mcg|µg|ug|g|iu|ml|x|%)$/i.test(token)) return true;
  return isStopWord(token.toLowerCase());
}
