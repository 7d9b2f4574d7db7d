import type { AgentDefinition } from "../machines/agent.ts";
import type { Credential, Principal } from "../machines/principal.ts";
import type { Skills } from "../skills/registry.ts";
import { askQuestion } from "./builtin/ask-question.ts";
import { buildPlan } from "./builtin/build-plan.ts";
import { citeSources } from "./builtin/cite-sources.ts";
import { loadSkill } from "./builtin/load-skill.ts";
import { proposePlan } from "./builtin/propose-plan.ts";
import { type KeptResults, readResult } from "./builtin/read-result.ts";
import { recommendLabs } from "./builtin/recommend-labs.ts";
import { recommendLifestyle } from "./builtin/recommend-lifestyle.ts";
import { recommendSupplements } from "./builtin/recommend-supplements.ts";
import { spawnResearchAgent } from "./builtin/spawn-research.ts";
import { type Decoration, decorations } from "./decorate.ts";
import { EvidenceMemory, studiesIn } from "./evidence-memory.ts";
import type { McpServers, Missing } from "./mcp/servers.ts";
import type { Subagents } from "./subagents.ts";
import type { Tool, Toolbox } from "./tool.ts";

/** A principal's tools, and what of them is not there because a server could not be asked. */
export type PrincipalToolbox = Toolbox & { readonly degraded: boolean; readonly missing: readonly Missing[] };

export interface Toolboxes {
  /** The tools of this principal now. From memory where the lists are fresh; never throws for what a server does. */
  toolboxFor(principal: Principal, credential: Credential): Promise<PrincipalToolbox>;
}

export type ToolboxesOptions = {
  readonly agent: AgentDefinition;
  readonly skills: Skills;
  readonly mcp: McpServers;
  /** Results that were too long to be shown; left out: nothing can be read later. */
  readonly results?: KeptResults;
  /** Left out: nothing can be worked out in a context of its own, and the tools for that do not exist. */
  readonly subagents?: Subagents;
  /** A discovered tool has the name of one of ours, which wins. */
  readonly onNameTaken?: (name: string) => void;
};

const MOST_MEMORIES = 1_000;

/** Puts together builtins and discovered tools, decorates them as the agent says, and leaves out what the flags disable. */
export function toolboxes({ agent, skills, mcp, results, subagents, onNameTaken }: ToolboxesOptions): Toolboxes {
  // Made once: the JSON Schema of a tool costs more than a turn's look at all of them.
  const shared = sharedTools(skills, results, subagents);
  const users = new Map<string, OwnTools>();
  const ownOf = (user: string): OwnTools => {
    const own = users.get(user) ?? ownTools();
    users.delete(user);
    users.set(user, own);
    const [oldest] = users.keys();
    if (users.size > MOST_MEMORIES && oldest !== undefined) users.delete(oldest);
    return own;
  };

  return {
    async toolboxFor(principal, credential) {
      const { memory, cite } = ownOf(principal.userId);
      const builtins = [...shared, cite].filter(({ name }) => agent.builtins.includes(name));
      const { tools, missing } = await mcp.discover({ principal, credential });
      const byName = new Map(builtins.map((tool) => [tool.name, tool]));
      for (const tool of tools) {
        if (byName.has(tool.name)) onNameTaken?.(tool.name);
        else byName.set(tool.name, remembering(decorated(tool, decorationOf(agent, tool.name)), memory));
      }
      const isEnabled = ({ name }: Tool) => {
        const flag = agent.tools[name]?.flag;
        return flag === undefined || principal.flags.includes(flag);
      };
      const enabled = [...byName.values()].filter(isEnabled).sort((a, b) => (a.name < b.name ? -1 : 1));
      return {
        tools: enabled,
        find: (name) => enabled.find((tool) => tool.name === name),
        degraded: missing.length > 0,
        missing,
      };
    },
  };
}

/** Every tool of ours there is, but for the one that remembers; the agent names the ones it has. */
function sharedTools(
  skills: Skills,
  results: KeptResults | undefined,
  subagents: Subagents | undefined,
): readonly Tool[] {
  const reading = results === undefined ? [] : [readResult(results)];
  const working = subagents === undefined ? [] : [spawnResearchAgent(subagents), buildPlan(subagents)];
  const shown = [recommendSupplements, recommendLifestyle, recommendLabs];
  return [loadSkill(skills), ...shown, askQuestion, proposePlan, ...reading, ...working];
}

/** What one user's searches gave, and the tool that cites it. */
type OwnTools = { readonly memory: EvidenceMemory; readonly cite: Tool };

function ownTools(): OwnTools {
  const memory = new EvidenceMemory();
  return { memory, cite: citeSources(memory) };
}

function decorationOf(agent: AgentDefinition, name: string): Decoration | undefined {
  return agent.decorations.includes(name) ? decorations[name] : undefined;
}

function decorated(tool: Tool, decoration: Decoration | undefined): Tool {
  if (decoration === undefined) return tool;
  return {
    ...tool,
    title: decoration.title,
    async run(args, context, signal) {
      const result = await tool.run(args, context, signal);
      const card = result.kind === "ok" ? decoration.card?.(result.data) : undefined;
      return card === undefined ? result : { ...result, card };
    },
  };
}

/** Keeps what evidence_search found, for cite_sources. */
function remembering(tool: Tool, memory: EvidenceMemory): Tool {
  if (tool.name !== "evidence_search") return tool;
  return {
    ...tool,
    async run(args, context, signal) {
      const result = await tool.run(args, context, signal);
      if (result.kind === "ok") memory.note(studiesIn(result.data));
      return result;
    },
  };
}
