/** Paints words for a terminal; leaves them plain where the output is a file or a pipe. */
export type Style = { dim(text: string): string; bold(text: string): string; red(text: string): string };

export function style(on: boolean): Style {
  const paint = (code: number) => (text: string) => (on ? `\u001b[${code}m${text}\u001b[0m` : text);
  return { dim: paint(2), bold: paint(1), red: paint(31) };
}

/** Text that can't steer a terminal: no escape sequences, no control characters but tab and newline. */
export function harmless(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  return text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
}

/** Text on one line, for lists and comments. */
export const oneLine = (text: string): string => harmless(text).replaceAll(/\s+/g, " ").trim();

/** A word as a shell reads it back, whatever a model put into it. */
export const shellWord = (word: string): string =>
  /^[\w.:@/-]+$/.test(word) ? word : `'${oneLine(word).replaceAll("'", "'\\''")}'`;
