import type { Chance } from "../../../machines/effects.ts";
import { Failure } from "../../../machines/failure.ts";
import type { Principal } from "../../../machines/principal.ts";
import type { Skills } from "../../../skills/registry.ts";
import type { SubagentProgress, SubagentResult } from "../../../tools/subagents.ts";
import type { Tool, Toolbox } from "../../../tools/tool.ts";
import type { SubagentDefinition } from "./run-subagent.ts";

/** What a sub-agent is made of. */
export type SubagentParts = {
  /** `SUBAGENT_SKILLS`, loaded once. */
  readonly skills: Skills;
  readonly principal: Principal;
  /** The tools of the principal now. */
  readonly toolbox: Toolbox;
  readonly chance: Chance;
  /** Told as it works; codes and numbers only. */
  readonly onProgress?: (progress: SubagentProgress) => void;
};

/** A sub-agent and what it came to. */
export type Subagent<R extends SubagentResult = SubagentResult> = SubagentDefinition & {
  /** Undefined until a finishing tool took a valid result. */
  readonly result: () => R | undefined;
  /** Stored with the result, under the id that the result names. */
  readonly bundle?: () => { readonly bundleId: string; readonly body: unknown } | undefined;
};

/** Instructions of the sub-agents: skill files that the assistant itself does not have. */
export const SUBAGENT_SKILLS = ["research-agent", "plan-builder"] as const;

/** The principal has not, or not any more, what this sub-agent needs. */
export class SubagentNotEnabled extends Failure {
  readonly code = "not_enabled";
  readonly retryable = false;
}

export function instructions({ skills, principal }: SubagentParts, name: (typeof SUBAGENT_SKILLS)[number]): string {
  const body = skills.render(name, principal.flags);
  if (body === undefined) throw new SubagentNotEnabled(`the instructions "${name}" are missing or not enabled`);
  return body;
}

/** A tool of the principal that this sub-agent can't do without. */
export function needed({ toolbox }: SubagentParts, name: string): Tool {
  const tool = toolbox.find(name);
  if (tool === undefined) throw new SubagentNotEnabled(`a sub-agent needs the tool ${name}, which is not there`);
  return tool;
}
