import { callId, sessionId, turnId } from "../../../../machines/ids.ts";
import { loadSkills } from "../../../../skills/registry.ts";
import { caller, never } from "../../../../tools/mcp/testing/scene.ts";
import type { SubagentProgress, SubagentRequest } from "../../../../tools/subagents.ts";
import type { Tool, ToolAnswer } from "../../../../tools/tool.ts";
import { realClock } from "../../../effects.ts";
import { type Move, scriptedModel } from "../../../models/scripted.ts";
import { SUBAGENT_SKILLS } from "../parts.ts";
import { runSubagent } from "../run-subagent.ts";
import { subagentFor } from "../subagent-for.ts";

/** What a tool of the platform gives: its data, or a whole answer. */
export type Given = (args: Readonly<Record<string, unknown>>) => { readonly data: unknown } | ToolAnswer;

export const BUNDLE = "00000000-0000-4000-8000-0000000000b1";
const ALL = ["plan_builder", "research", "interactions", "labs"];

export const away: ToolAnswer = { kind: "error", reason: "unavailable", text: "down" };

/** A sub-agent over platform tools that give what they are told. `calls` notes what was asked of them, `flags` whose agent it is. */
export function scene(
  request: SubagentRequest,
  platform: Readonly<Record<string, Given>>,
  flags: readonly string[] = ALL,
) {
  const calls: string[] = [];
  const progress: SubagentProgress[] = [];
  const tools = Object.entries(platform).map(
    ([name, give]): Tool => ({
      ...{ name, title: name, description: name, inputSchema: { type: "object" } },
      traits: { readOnly: true, repeatable: true },
      async run(args, { credential }) {
        calls.push(`${credential.cookie} ${name} ${JSON.stringify(args)}`);
        const answer = give(args as Readonly<Record<string, unknown>>);
        return "kind" in answer ? answer : { kind: "ok", text: JSON.stringify(answer.data), data: answer.data };
      },
    }),
  );
  const who = caller("ana", "sid=ana", flags);
  const agent = subagentFor(request, {
    skills: loadSkills({ names: SUBAGENT_SKILLS }),
    principal: who.principal,
    toolbox: { tools, find: (name) => tools.find((tool) => tool.name === name) },
    chance: { uuid: () => BUNDLE, fraction: () => 0 },
    onProgress: (one) => void progress.push(one),
  });
  /** Plays the moves; gives the ending and what its model read of each result. */
  const play = async (...moves: [Move, ...Move[]]) => {
    const model = scriptedModel(...moves);
    const call = {
      ...who,
      sessionId: sessionId("00000000-0000-4000-8000-00000000000a"),
      turnId: turnId("00000000-0000-4000-8000-000000000001"),
      callId: callId("call-1"),
    };
    const ending = await runSubagent(
      agent,
      call,
      { model, clock: realClock, maxOutputTokens: 100, onModelCall: () => {}, onStep: () => {} },
      never,
    );
    const last = model.requests.at(-1);
    const read = (last?.entries ?? []).flatMap((entry) => (entry.kind === "tool_result" ? [entry.text] : []));
    return { ending, read, requests: model.requests };
  };
  return { agent, calls, progress, play };
}
