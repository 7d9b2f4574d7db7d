import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "./package-root.ts";
import { renderSections } from "./sections.ts";
import { readSkill, type Skill, type SkillProblem } from "./skill-file.ts";

/** The skills of an agent, in memory. A name is only ever looked up here: no path is made of what a model says. */
export interface Skills {
  /** What was wrong with the files when they were read. The other skills are there. */
  readonly problems: readonly SkillProblem[];
  /** Lines of the system prompt's index, sorted by name: "name: description". */
  forFlags(flags: readonly string[]): readonly string[];
  /** Names of the skills that are enabled, sorted. */
  names(flags: readonly string[]): readonly string[];
  /** The body as the flags see it, in a tag that names skill and version; undefined when missing or disabled, no matter which. */
  render(name: string, flags: readonly string[]): string | undefined;
  /** Changes when the rendered body does: by an edit of the file or by a flag. */
  version(name: string, flags: readonly string[]): string | undefined;
  /** The enabled skill that an entry point of the client loads. */
  forEntryPoint(entryPoint: string, flags: readonly string[]): string | undefined;
}

export type LoadSkillsOptions = {
  /** Only these, in any order; one that is not there is a problem. All when left out. */
  readonly names?: readonly string[];
  /** Folder of the skill folders; the package's own `skills` when left out. */
  readonly folder?: string;
};

/** Reads all skills once, at start. Throws only when the folder itself cannot be read. */
export function loadSkills(options: LoadSkillsOptions = {}): Skills {
  const folder = options.folder ?? join(packageRoot(), "skills");
  const found = readdirSync(folder, { withFileTypes: true })
    .filter((item) => item.isDirectory())
    .map(({ name }) => name)
    .sort();
  const wanted = options.names === undefined ? found : found.filter((name) => options.names?.includes(name));
  const read = wanted.map((name) => readFile(folder, name));
  const absent = (options.names ?? [])
    .filter((name) => !found.includes(name))
    .map((name): SkillProblem => {
      return {
        file: fileOf(name),
        severity: "error",
        code: "missing",
        message: "the agent names it, but it is not there",
      };
    });
  return registry(
    read.flatMap(({ skill }) => (skill === undefined ? [] : [skill])),
    [...read.flatMap(({ problems }) => problems), ...absent],
  );
}

/** A registry of skills that were read already. */
export function registry(skills: readonly Skill[], problems: readonly SkillProblem[] = []): Skills {
  const byName = new Map([...skills].sort((a, b) => (a.name < b.name ? -1 : 1)).map((skill) => [skill.name, skill]));
  const enabled = (flags: readonly string[]) =>
    [...byName.values()].filter(({ flag }) => flag === undefined || flags.includes(flag));
  const bodyOf = (name: string, flags: readonly string[]): string | undefined => {
    const skill = enabled(flags).find((one) => one.name === name);
    return skill === undefined ? undefined : renderSections(skill.sections, new Set(flags));
  };
  return {
    problems,
    forFlags: (flags) => enabled(flags).map(({ name, description }) => `${name}: ${description}`),
    names: (flags) => enabled(flags).map(({ name }) => name),
    render(name, flags) {
      const body = bodyOf(name, flags);
      return body === undefined ? undefined : `<skill name="${name}" version="${versionOf(body)}">\n${body}\n</skill>`;
    },
    version(name, flags) {
      const body = bodyOf(name, flags);
      return body === undefined ? undefined : versionOf(body);
    },
    forEntryPoint: (entryPoint, flags) =>
      enabled(flags).find(({ entryPoints }) => entryPoints.includes(entryPoint))?.name,
  };
}

const versionOf = (body: string) => createHash("sha256").update(body).digest("hex").slice(0, 12);
const fileOf = (name: string) => `skills/${name}/SKILL.md`;

function readFile(folder: string, name: string) {
  let text: string;
  try {
    text = readFileSync(join(folder, name, "SKILL.md"), "utf8");
  } catch {
    const problem = {
      severity: "error",
      code: "unreadable",
      message: "there is no readable SKILL.md in the folder",
    } as const;
    return { problems: [{ file: fileOf(name), ...problem }] };
  }
  return readSkill(text, name, fileOf(name));
}
