/** A text for a readable column: without NUL, which PostgreSQL refuses, and without lone surrogates, which jsonb refuses. */
export function clear(text: string): string {
  return text.replaceAll("\0", "").toWellFormed();
}
