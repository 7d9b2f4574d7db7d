const STOP = new Set(
  `a about an and any are as at be by can could do does find for from get give has have how i if in into is it its me my
   not of on or patient please show should take taking tell than that the their them there these this to use used was we
   what when where which who why will with would you your`.split(/\s+/),
);

/** Lower-case words of a text without accents, apostrophes and punctuation, plurals reduced: "St. John's" gives st, john. */
export function words(text: string): readonly string[] {
  return text
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]/g, "")
    .toLowerCase()
    .replace(/['’ʼ]/g, "")
    .replace(/(\d),(?=\d{3}\b)/g, "$1")
    .split(/[^\p{Letter}\p{Number}]+/u)
    .filter((word) => word.length > 0)
    .map((word) => (word === "saint" ? "st" : singular(word)));
}

/** The words of a question that say what it is about. A question of stop words alone keeps them all. */
export function keywords(text: string): readonly string[] {
  const all = words(text);
  const telling = all.filter((word) => !STOP.has(word));
  return telling.length > 0 ? telling : all;
}

function singular(word: string): string {
  if (word.length < 4 || !word.endsWith("s") || /(ss|us)$/.test(word)) return word;
  if (word.endsWith("ies") && word.length > 4) return `${word.slice(0, -3)}y`;
  if (/(s|x|z|ch|sh)es$/.test(word)) return word.slice(0, -2);
  return word.slice(0, -1);
}
