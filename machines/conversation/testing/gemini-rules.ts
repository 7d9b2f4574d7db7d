import type { Content, Part } from "@google/genai";

const calls = (content: Content | undefined) => (content?.parts ?? []).flatMap((part) => part.functionCall ?? []);
const responses = (content: Content | undefined) =>
  (content?.parts ?? []).flatMap((part) => part.functionResponse ?? []);
const isSigned = (part: Part): boolean => part.text !== undefined && part.thoughtSignature !== undefined;
/** White space may stand only where a signature vouches for the text as a whole. */
const isBlank = (part: Part, parts: readonly Part[]): boolean =>
  part.text !== undefined && !isSigned(part) && (parts.some(isSigned) ? part.text === "" : part.text.trim() === "");

/** What the real API refuses in `contents`, as CASES.md lists it for the strict Gemini stub. Empty: it is valid. */
export function contentProblems(contents: readonly Content[]): string[] {
  const found: string[] = [];
  if (contents[0]?.role !== "user") found.push("does not begin with the user");
  if (contents.at(-1)?.role !== "user") found.push("does not end with the user");
  contents.forEach((content, at) => {
    const { role, parts = [] } = content;
    const before = contents[at - 1];
    const after = contents[at + 1];
    if (role === before?.role) found.push(`${at}: same role as before`);
    if (parts.length === 0) found.push(`${at}: no parts`);
    if (parts.some((part) => isBlank(part, parts))) found.push(`${at}: blank text`);
    if (role === "user" && calls(content).length > 0) found.push(`${at}: the user calls`);
    if (role === "model" && responses(content).length > 0) found.push(`${at}: the model responds`);
    if (calls(content).length > 0) {
      const asked = calls(content).map(({ name, id }) => [name, id]);
      const given = responses(after).map(({ name, id }) => [name, id]);
      if (JSON.stringify(asked) !== JSON.stringify(given)) found.push(`${at}: calls and responses differ`);
      const [first] = parts.filter((part) => part.functionCall !== undefined);
      if (first?.thoughtSignature === undefined) found.push(`${at}: first call unsigned`);
    }
    if (responses(content).length > 0 && calls(before).length === 0) found.push(`${at}: orphan responses`);
    const lastResponse = parts.findLastIndex((part) => part.functionResponse !== undefined);
    if (lastResponse >= responses(content).length) found.push(`${at}: something precedes a response`);
    if (!JSON.stringify(content).isWellFormed() || JSON.stringify(content).includes("\\ud8"))
      found.push(`${at}: lone surrogate`);
  });
  return found;
}
