/** "a", "a and b", "a, b and c". */
export function andList(words: readonly string[]): string {
  const last = words.at(-1) ?? "";
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} and ${last}`;
}

/** "Title, 2014" of the first source, or nothing. */
export function sourceLine(
  sources: readonly {
    readonly title?: string | null | undefined;
    readonly year?: number | string | null | undefined;
  }[],
): string {
  const first = sources.find(({ title }) => title);
  if (first === undefined) return "";
  return [first.title, first.year].filter((word) => word).join(", ");
}

export const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`;

export const capital = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;

export const SHORTENED = "The result was shortened on its way to me, so there may be more than I list here.";
