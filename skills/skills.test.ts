import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { assist } from "../assist.config.ts";
import { systemPrompt } from "../machines/agent.ts";
import type { Entry } from "../machines/conversation/entries.ts";
import { callId, turnId } from "../machines/ids.ts";
import { loadedSkills } from "./loaded.ts";
import { loadSkills } from "./registry.ts";
import { readSkill } from "./skill-file.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

const file = (name: string, body: string, rest = "description: What it is for.") =>
  `---\nname: ${name}\n${rest}\n---\n${body}\n`;

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "skills-"));
  folders.push(folder);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, "SKILL.md"), text);
  }
  return folder;
}

const beta = "description: Beta.\nmetadata:\n  flag: beta\n  entry_points: [start_beta]";
const conditioned = ["All.", ":::flag labs", "With labs.", ":::", ":::flag !labs", "Without labs.", ":::", "End."].join(
  "\n",
);

test("[J-03] index, names, entry points and bodies follow the flags; missing and disabled are the same", () => {
  const skills = loadSkills({
    folder: folderWith({ zeta: file("zeta", conditioned), beta: file("beta", "Steps.", beta) }),
  });
  expect(skills.problems).toEqual([]);
  expect(skills.forFlags([])).toEqual(["zeta: What it is for."]);
  expect(skills.forFlags(["labs", "beta"])).toEqual(["beta: Beta.", "zeta: What it is for."]);
  expect([skills.names([]), skills.names(["beta"])]).toEqual([["zeta"], ["beta", "zeta"]]);
  expect([skills.render("beta", []), skills.render("nope", []), skills.render("../zeta", [])]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect([skills.forEntryPoint("start_beta", ["beta"]), skills.forEntryPoint("start_beta", [])]).toEqual([
    "beta",
    undefined,
  ]);
  const body = (flags: readonly string[]) => skills.render("zeta", flags)?.split("\n").slice(1, -1);
  expect(body(["labs"])).toEqual(["All.", "With labs.", "End."]);
  expect(body([])).toEqual(["All.", "Without labs.", "End."]);
  expect(skills.version("zeta", [])).not.toBe(skills.version("zeta", ["labs"]));
});

test("[J-04] large, empty and invalid files are refused by name, the others load; nothing is cut", () => {
  const last = "NEVER exceed 400 mg";
  const exact = `${"x".repeat(32 * 1024 - last.length - 1)}\n${last}`;
  const skills = loadSkills({
    folder: folderWith({
      big: file("big", `${"x".repeat(40 * 1024)}\n${last}`),
      empty: file("empty", "  "),
      exact: file("exact", exact),
      invalid: "---\nname: [\n---\nSteps.",
      nameless: "Steps without front matter.",
      other: file("another", "Steps."),
      unclosed: file("unclosed", ":::flag labs\nSteps."),
      wordy: file("wordy", "Steps.", `description: ${"w".repeat(101)}`),
    }),
    names: ["big", "empty", "exact", "invalid", "nameless", "other", "unclosed", "wordy", "absent"],
  });
  expect(skills.names([])).toEqual(["exact", "wordy"]);
  expect(skills.render("exact", [])?.endsWith(`${last}\n</skill>`)).toBe(true);
  expect(skills.problems.map(({ file, severity, code }) => [file, severity, code])).toEqual([
    ["skills/big/SKILL.md", "error", "too_large"],
    ["skills/empty/SKILL.md", "error", "empty"],
    ["skills/invalid/SKILL.md", "error", "front_matter"],
    ["skills/nameless/SKILL.md", "error", "front_matter"],
    ["skills/other/SKILL.md", "error", "name_differs"],
    ["skills/unclosed/SKILL.md", "error", "sections"],
    ["skills/wordy/SKILL.md", "warning", "long_description"],
    ["skills/absent/SKILL.md", "error", "missing"],
  ]);
});

test("sections that do not pair are problems that name the line", () => {
  const problem = (body: string) => readSkill(file("a", body), "a", "a").problems.map(({ message }) => message);
  expect(problem("x\n:::")).toEqual(['line 2 of the body: ":::" closes nothing']);
  expect(problem(":::flag a\n:::flag b\n:::")).toEqual(["line 2 of the body: sections do not nest"]);
  expect(problem(":::flag\n:::")).toEqual(['line 1 of the body: write ":::flag name" or ":::"']);
  expect(problem(":::flag a\nx")).toEqual(['the section of flag "a" is not closed by ":::"']);
});

test("[J-08] loaded is what lies in the entries in its present version", () => {
  const skills = loadSkills({ folder: folderWith({ zeta: file("zeta", conditioned) }) });
  const turn = turnId("00000000-0000-4000-8000-000000000002");
  const result = (text: string, over: object = {}): Entry => ({
    ...{ kind: "tool_result", turnId: turn, callId: callId("c"), name: "load_skill", outcome: "ok", text },
    ...over,
  });
  const body = skills.render("zeta", ["labs"]) ?? "";
  expect(loadedSkills([result(body)], skills, ["labs"])).toEqual(new Set(["zeta"]));
  expect(loadedSkills([result(body)], skills, [])).toEqual(new Set());
  expect(
    loadedSkills([result(body, { name: "visit_notes" }), { kind: "user", turnId: turn, text: body }], skills, ["labs"]),
  ).toEqual(new Set());
});

const ALL = ["plan_builder", "research", "interactions", "labs"];
const PLATFORM_TOOLS = [
  ...["patient_search", "patient_get", "visit_notes", "product_search", "evidence_search", "interaction_check"],
  ...["depletion_check", "lab_tests", "knowledge_base_search"],
  ...Object.values(assist.planTools),
];

test("Assist's own skills are in order, within their limits, and name only tools that exist", () => {
  const skills = loadSkills({ names: assist.skills });
  expect(skills.problems).toEqual([]);
  expect(skills.names(ALL)).toEqual([...assist.skills].sort());
  const known = new Set([...assist.builtins, ...PLATFORM_TOOLS]);
  const ARGUMENTS = ["evidence_ids", "patient_id", "plan_id", "planner_reflection", "variant_id"];
  const toolLike = /`([a-z]+(?:_[a-z]+)+)`/g;
  for (const name of skills.names(ALL))
    for (const flags of [ALL, ["research"]]) {
      const named = [...(skills.render(name, flags) ?? "").matchAll(toolLike)].map(([, word]) => word ?? "");
      expect(named.filter((word) => !known.has(word) && !ARGUMENTS.includes(word))).toEqual([]);
    }
  for (const [name, { flag }] of Object.entries(assist.tools)) {
    expect(known.has(name)).toBe(true);
    expect(flag === undefined || ALL.includes(flag)).toBe(true);
  }
});

test("the system prompt ends with the index of the enabled skills; without any there is no index", () => {
  const skills = loadSkills({ names: assist.skills });
  expect(
    systemPrompt(assist, skills.forFlags(["research"]))
      .split("\n")
      .slice(-4),
  ).toEqual([
    "<skills>",
    "- knowledge-base-answering: Answer questions on using the platform: orders, autoship, refunds, patients, plans, billing.",
    "- research-evidence: Search studies on a supplement, weigh them, and answer with citations.",
    "</skills>",
  ]);
  expect(systemPrompt(assist, [])).toBe(assist.prompt.trim());
});
