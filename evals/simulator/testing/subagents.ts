import { assist } from "../../../assist.config.ts";
import { callId, sessionId, turnId } from "../../../machines/ids.ts";
import { realChance, realClock } from "../../../runtime/effects.ts";
import { SUBAGENT_SKILLS } from "../../../runtime/jobs/subagents/parts.ts";
import { runSubagent, type SubagentModelCall } from "../../../runtime/jobs/subagents/run-subagent.ts";
import { subagentFor } from "../../../runtime/jobs/subagents/subagent-for.ts";
import { simulatedRoutes } from "../../../runtime/model-routes.ts";
import { modelsOf } from "../../../runtime/models/profiles.ts";
import { loadSkills } from "../../../skills/registry.ts";
import { mcpServers } from "../../../tools/mcp/servers.ts";
import { caller, never } from "../../../tools/mcp/testing/scene.ts";
import { testPlatform } from "../../../tools/platform/testing/platform.ts";
import type { SubagentProgress, SubagentRequest } from "../../../tools/subagents.ts";
import { toolboxes } from "../../../tools/toolbox.ts";
import { startSimulator } from "../simulator.ts";

export const EVERY_FLAG = ["plan_builder", "research", "interactions", "labs"];

/** Sub-agents at work: the simulated model behind the real SDKs, the real platform over MCP. Only the queue is missing. */
export async function subagentScene() {
  const platform = await testPlatform();
  const { url } = await platform.start();
  const simulator = await startSimulator();
  const mcp = mcpServers({ servers: [{ name: "platform", url: new URL("/mcp", url).href, bareNames: true }] });
  const boxes = toolboxes({ agent: assist, skills: loadSkills({ names: assist.skills }), mcp });
  const skills = loadSkills({ names: SUBAGENT_SKILLS });
  const cookie = await platform.login(url, "dr-rivera");
  const models = modelsOf(simulatedRoutes(simulator.url), { newCallId: () => callId(realChance.uuid()) });

  /** Runs one to its end, over the first wire or the second. */
  async function work(
    request: SubagentRequest,
    { wire = 0, flags = EVERY_FLAG }: { wire?: 0 | 1; flags?: readonly string[] } = {},
  ) {
    const who = caller("dr-rivera", cookie, flags);
    const toolbox = await boxes.toolboxFor(who.principal, who.credential);
    const progress: SubagentProgress[] = [];
    const calls: SubagentModelCall[] = [];
    const agent = subagentFor(request, {
      skills,
      principal: who.principal,
      toolbox,
      chance: realChance,
      onProgress: (one) => void progress.push(one),
    });
    const before = simulator.requests().length;
    const call = {
      ...who,
      sessionId: sessionId(realChance.uuid()),
      turnId: turnId(realChance.uuid()),
      callId: callId("call-1"),
    };
    const ending = await runSubagent(
      agent,
      call,
      {
        model: models[wire] ?? models[0],
        clock: realClock,
        maxOutputTokens: 4_096,
        onModelCall: (one) => void calls.push(one),
        onStep: () => {},
      },
      never,
    );
    const asked = simulator
      .requests()
      .slice(before)
      .map(({ body }) => JSON.stringify(body));
    return { ending, result: agent.result(), bundle: agent.bundle?.(), progress, calls, asked, toolbox };
  }

  return {
    work,
    cookie,
    async close() {
      await mcp.close();
      await simulator.close();
      await platform.close();
    },
  };
}
