import { expect, test } from "vitest";
import { assist } from "../../../assist.config.ts";
import { loadSkills } from "../../../skills/registry.ts";
import { SUBAGENT_SKILLS } from "./parts.ts";
import { away, type Given, scene } from "./testing/scene.ts";

const ALL = ["plan_builder", "research", "interactions", "labs"];
const READS = ["patient_get", "visit_notes", "product_search", "interaction_check", "depletion_check", "lab_tests"];
const everything: Readonly<Record<string, Given>> = Object.fromEntries(
  [...READS, "evidence_search", "treatment_plan_create", "spawn_research_agent"].map((name) => [name, () => away]),
);

test("[J-03] the sub-agents' instructions are in order, follow the flags, and are none of the assistant's skills", () => {
  const skills = loadSkills({ names: SUBAGENT_SKILLS });
  expect([skills.problems, skills.names(ALL), skills.names(["labs"])]).toEqual([[], [...SUBAGENT_SKILLS].sort(), []]);
  expect(assist.skills.filter((name) => (SUBAGENT_SKILLS as readonly string[]).includes(name))).toEqual([]);
});

test("a sub-agent has its own tools and no others, and its instructions name only what it has", () => {
  const ARGUMENTS = ["planner_reflection", "selected_ids", "units_per_day"];
  const agents = [
    [scene({ kind: "research", question: "?" }, everything), ["search_evidence", "finish_research"]],
    [scene({ kind: "plan_builder", patientId: "p-1" }, everything), [...READS, "finish_plan", "ask_clarification"]],
  ] as const;
  for (const [{ agent }, names] of agents) {
    const own = [...agent.tools, ...agent.finishing].map(({ name }) => name);
    expect([...own].sort()).toEqual([...names].sort());
    const named = [...agent.system.matchAll(/`([a-z]+(?:_[a-z]+)+)`/g)].map(([, word = ""]) => word);
    expect(named.filter((word) => !own.includes(word) && !ARGUMENTS.includes(word))).toEqual([]);
    expect([...agent.tools, ...agent.finishing].filter(({ traits }) => !traits.readOnly)).toEqual([]);
  }
});
