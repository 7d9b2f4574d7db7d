import { z } from "zod";
import type { Skills } from "../../skills/registry.ts";
import { clipped } from "../bounds.ts";
import type { Tool } from "../tool.ts";
import { showingTool } from "./define.ts";

const ECHO_CHARACTERS = 64;

/** Gives the model a skill's instructions: once in what it reads now, later loads only point at them. */
export function loadSkill(skills: Skills): Tool {
  return showingTool({
    name: "load_skill",
    title: "Reading instructions",
    description:
      "Load the full instructions of a skill of the <skills> list. Do this before you act on a request that the skill covers; once is enough.",
    input: z.object({ name: z.string().describe("Name of the skill, as in the <skills> list.") }),
    async run({ name }, { principal, loadedSkills }) {
      const body = skills.render(name, principal.flags);
      if (body === undefined) {
        const enabled = skills.names(principal.flags).join(", ") || "none";
        const echo = JSON.stringify(clipped(name, ECHO_CHARACTERS).toWellFormed());
        return { kind: "error", reason: "tool", text: `There is no skill ${echo}. Skills: ${enabled}.` };
      }
      if (loadedSkills.has(name)) {
        return { kind: "ok", text: `The skill ${name} is loaded already: its instructions are above. Follow them.` };
      }
      loadedSkills.add(name);
      return { kind: "ok", text: body, skillLoaded: name };
    },
  });
}
