import { parse } from "yaml";
import { z } from "zod";
import { type Section, sectionsOf } from "./sections.ts";

/** Most bytes of a skill's body. Longer files are refused, never cut: their last rule may be the one that matters. */
export const BODY_BYTES = 32 * 1024;
/** What an index line should cost at most; longer ones are loaded with a warning. */
export const DESCRIPTION_CHARACTERS = 100;

export type Skill = {
  readonly name: string;
  readonly description: string;
  /** The principal's flag without which the skill does not exist. */
  readonly flag?: string;
  readonly entryPoints: readonly string[];
  readonly sections: readonly Section[];
};

export type SkillProblemCode =
  | "unreadable"
  | "front_matter"
  | "name_differs"
  | "empty"
  | "too_large"
  | "sections"
  | "missing"
  | "long_description";

/** What is wrong with one skill file. An `error` kept the skill from being loaded. */
export type SkillProblem = {
  readonly file: string;
  readonly severity: "error" | "warning";
  readonly code: SkillProblemCode;
  readonly message: string;
};

export type ReadSkill = { readonly skill?: Skill; readonly problems: readonly SkillProblem[] };

const word = z.string().regex(/^[a-z0-9]+([_-][a-z0-9]+)*$/, "use lower-case letters, digits, - and _");
const frontMatter = z.object({
  name: word.max(64),
  description: z
    .string()
    .trim()
    .min(1)
    .max(1024)
    .regex(/^[^\r\n]*$/, "use one line"),
  metadata: z.object({ flag: word.optional(), entry_points: z.array(word).default([]) }).optional(),
});

/** Reads one `SKILL.md`. `folder` is the name the skill must have; `file` is how problems call it. */
export function readSkill(text: string, folder: string, file: string): ReadSkill {
  const fail = (code: SkillProblemCode, message: string): ReadSkill => ({
    problems: [{ file, severity: "error", code, message }],
  });
  const parts = /^---\n([\s\S]*?)\n---(?:\n([\s\S]*))?$/.exec(text.replaceAll("\r\n", "\n").replace(/^\u{feff}/u, ""));
  if (parts === null) return fail("front_matter", "begin the file with YAML front matter between two lines of ---");

  const front = frontMatter.safeParse(yaml(parts[1] ?? ""));
  if (!front.success) return fail("front_matter", z.prettifyError(front.error).replaceAll("\n", " "));
  const { name, description, metadata } = front.data;
  if (name !== folder) return fail("name_differs", `name is "${name}", but the folder is "${folder}"`);

  const body = (parts[2] ?? "").trim();
  const bytes = Buffer.byteLength(body);
  if (bytes === 0) return fail("empty", "the file has no instructions after its front matter");
  if (bytes > BODY_BYTES)
    return fail("too_large", `the body has ${bytes} bytes, ${BODY_BYTES} are allowed: split the skill`);
  const sections = sectionsOf(body);
  if ("problem" in sections) return fail("sections", sections.problem);

  const skill: Skill = {
    name,
    description,
    ...(metadata?.flag === undefined ? {} : { flag: metadata.flag }),
    entryPoints: metadata?.entry_points ?? [],
    sections: sections.sections,
  };
  if (description.length <= DESCRIPTION_CHARACTERS) return { skill, problems: [] };
  const message = `description has ${description.length} characters; every turn pays for more than ${DESCRIPTION_CHARACTERS}`;
  return { skill, problems: [{ file, severity: "warning", code: "long_description", message }] };
}

function yaml(text: string): unknown {
  try {
    return parse(text, { maxAliasCount: 0, schema: "core" }) as unknown;
  } catch {
    return undefined;
  }
}
