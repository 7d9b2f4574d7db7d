/** Longest words of each side that a summary takes over. */
const ASKED = 160;
const ANSWERED = 240;
const CHARACTERS_PER_WORD = 6;

/** The parts of a request to sum a conversation up; null when the text is none. */
export type Transcript = {
  readonly earlier: string;
  readonly text: string;
  readonly words: number;
  readonly identifiers: string;
};

/** Reads a request that holds a transcript between tags, what was known before, and how long the answer may be. */
export function readTranscript(question: string): Transcript | null {
  const text = /<transcript\b[^>]*>\n([\s\S]*)\n<\/transcript>/.exec(question)?.[1];
  if (text === undefined) return null;
  return {
    text,
    earlier: /<earlier>\n([\s\S]*?)\n<\/earlier>/.exec(question)?.[1] ?? "",
    words: Number(/at most (\d+) words/.exec(question)?.[1] ?? 200),
    identifiers: /identifiers exactly as it is written here: (.*)\.$/m.exec(question)?.[1] ?? "",
  };
}

/** The transcript in short, in the third person; the oldest lines give way when it grows too long. */
export function condensed({ earlier, text, words, identifiers }: Transcript): string {
  const end = identifiers === "" ? [] : [`Identifiers in use: ${identifiers}.`];
  const room = words * CHARACTERS_PER_WORD - end.join("").length;
  const lines = [
    ...earlier.split("\n").filter((line) => !line.startsWith("Identifiers in use")),
    ...text.split("\n\n").flatMap(line),
  ];
  const kept: string[] = [];
  let length = 0;
  for (const one of lines.filter((each) => each.trim() !== "").reverse()) {
    length += one.length + 1;
    if (length > room) break;
    kept.unshift(one);
  }
  return [...(kept.length > 0 ? kept : ["Nothing of note was said."]), ...end].join("\n");
}

function line(part: string): readonly string[] {
  const said = part.replace(/\s+/g, " ");
  const user = /^User: (?!\[|<)(.*)$/.exec(said)?.[1];
  if (user !== undefined) return [`The practitioner asked: ${short(user, ASKED)}`];
  const answer = /^Assistant: (.*)$/.exec(said)?.[1];
  return answer === undefined ? [] : [`Assist answered: ${short(answer, ANSWERED)}`];
}

const short = (text: string, most: number): string =>
  (text.length <= most ? text : `${text.slice(0, most - 1)}…`).toWellFormed();
