/** A piece of a skill's body: for everyone, or only with (`absent` false) or without (`absent` true) a flag. */
export type Section = { readonly text: string; readonly when?: { readonly flag: string; readonly absent: boolean } };

const OPEN = /^ *:::flag +(!?)([a-z0-9]+(?:[_-][a-z0-9]+)*) *$/;
const CLOSE = /^ *::: *$/;

/** Splits a body at `:::flag name` (or `:::flag !name`) … `:::`. Sections do not nest. */
export function sectionsOf(body: string): { readonly sections: readonly Section[] } | { readonly problem: string } {
  const sections: Section[] = [];
  let lines: string[] = [];
  let when: Section["when"];
  const finish = () => {
    if (lines.length > 0) sections.push({ text: lines.join("\n"), ...(when === undefined ? {} : { when }) });
    lines = [];
  };
  for (const [at, line] of body.split("\n").entries()) {
    const open = OPEN.exec(line);
    if (open === null && !CLOSE.test(line)) {
      if (/^ *:::/.test(line)) return { problem: `line ${at + 1} of the body: write ":::flag name" or ":::"` };
      lines.push(line);
      continue;
    }
    if (open !== null && when !== undefined) return { problem: `line ${at + 1} of the body: sections do not nest` };
    if (open === null && when === undefined) return { problem: `line ${at + 1} of the body: ":::" closes nothing` };
    finish();
    when = open === null ? undefined : { flag: open[2] ?? "", absent: open[1] === "!" };
  }
  if (when !== undefined) return { problem: `the section of flag "${when.flag}" is not closed by ":::"` };
  finish();
  return { sections };
}

/** The body as these flags see it. */
export function renderSections(sections: readonly Section[], flags: ReadonlySet<string>): string {
  return sections
    .filter(({ when }) => when === undefined || flags.has(when.flag) !== when.absent)
    .map(({ text }) => text)
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}
