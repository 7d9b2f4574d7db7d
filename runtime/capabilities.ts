import { type AgentDefinition, systemPrompt } from "../machines/agent.ts";
import { textTokens, toolTokens } from "../machines/conversation/tokens.ts";
import type { Chance, Clock } from "../machines/effects.ts";
import { callId, sessionId, turnId } from "../machines/ids.ts";
import { loadedSkills } from "../skills/loaded.ts";
import type { Skills } from "../skills/registry.ts";
import { runTool } from "../tools/execute.ts";
import type { Tool, Toolbox } from "../tools/tool.ts";
import type { PrincipalToolbox, Toolboxes } from "../tools/toolbox.ts";
import type { Caller } from "./sessions/conversations.ts";
import type { Capabilities, Screen } from "./sessions/world.ts";

/** Naming what is on the screen is a courtesy: it may not hold a turn up for longer. */
const DESCRIBE_MS = 2_000;

/** A step waits no longer for a list of tools that may be newer. */
const RELIST_MS = 2_000;

/** Made once: an abort without a reason makes an exception with a stack each time, here for every step. */
const IN_TIME = new Error("nobody waits any more");

export type CapabilityParts = {
  readonly agent: AgentDefinition;
  readonly skills: Skills;
  readonly toolboxes: Toolboxes;
  readonly clock: Clock;
  readonly chance: Chance;
};

/** What a principal's agent can do now: its prompt with the enabled skills, its tools, and who is on the screen. */
export function capabilitiesOf(parts: CapabilityParts) {
  const { agent, skills, toolboxes } = parts;
  const promptTokens = textTokens(agent.prompt);
  /** By index text: there are as many as there are sets of flags. */
  const indexTokens = new Map<string, number>();
  const tokensOf = (text: string): number => {
    const tokens = indexTokens.get(text) ?? textTokens(text);
    indexTokens.set(text, tokens);
    return tokens;
  };
  return async (caller: Caller): Promise<Capabilities> => {
    const { flags } = caller.principal;
    const index = skills.forFlags(flags);
    const listed = () => toolboxes.toolboxFor(caller.principal, caller.credential);
    const having = (toolbox: PrincipalToolbox): Capabilities => ({
      system: systemPrompt(agent, index),
      toolbox,
      fixed: {
        system: promptTokens,
        skills: tokensOf(index.join("\n")),
        tools: toolTokens(toolbox.tools),
      },
      loadedSkills: (entries) => loadedSkills(entries, skills, flags),
      eager(entryPoint) {
        const name = skills.forEntryPoint(entryPoint, flags);
        const body = name === undefined ? undefined : skills.render(name, flags);
        return name === undefined || body === undefined ? [] : [{ name, body }];
      },
      describe: (screen, signal) => describe(parts, toolbox, caller, screen, signal),
      async relisted(signal) {
        const again = await inTime(parts.clock, listed(), signal);
        return again === undefined || lacks(again, toolbox) ? this : having(again);
      },
    });
    return having(await listed());
  };
}

/** A server that can't be asked for its list takes no tools away from a turn that has them. */
function lacks(again: PrincipalToolbox, before: PrincipalToolbox): boolean {
  const lost = ({ missing }: PrincipalToolbox) => missing.filter(({ stale }) => !stale).map(({ server }) => server);
  const known = lost(before);
  return lost(again).some((server) => !known.includes(server));
}

/** What `work` came to; undefined when it takes too long. */
async function inTime<T>(clock: Clock, work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const over = new AbortController();
  const stop = () => over.abort(IN_TIME);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const late = clock.sleep(RELIST_MS, over.signal).then(
    () => undefined,
    () => void signal.throwIfAborted(),
  );
  try {
    return await Promise.race([work, late]);
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
  }
}

async function describe(
  parts: CapabilityParts,
  toolbox: Toolbox,
  caller: Caller,
  { patientId, planId }: Screen,
  signal: AbortSignal,
) {
  const { agent } = parts;
  const look = (tool: string, id: string | undefined) =>
    id === undefined ? undefined : read(parts, toolbox.find(tool), caller, id, signal);
  const [patient, plans] = await Promise.all([
    look(agent.patientTools.read, patientId),
    look(agent.planTools.read, planId),
  ]);
  const name = textAt(patient, "patient", "name");
  const outline = outlineOf(plans);
  return {
    ...(patientId !== undefined && { patient: { id: patientId, ...(name !== undefined && { name }) } }),
    ...(planId !== undefined && { plan: { id: planId, ...(outline !== undefined && { outline }) } }),
  };
}

/** A read-only look at the platform as the user; undefined when it has no answer in time. */
async function read(
  { clock, chance }: CapabilityParts,
  tool: Tool | undefined,
  { principal, credential }: Caller,
  id: string,
  signal: AbortSignal,
): Promise<unknown> {
  if (!tool?.traits.readOnly) return undefined;
  const late = new AbortController();
  const timer = clock.sleep(DESCRIBE_MS, late.signal).then(
    () => late.abort(),
    () => undefined,
  );
  const nowhere = { sessionId: sessionId(chance.uuid()), turnId: turnId(chance.uuid()) };
  try {
    const call = { callId: callId(chance.uuid()), name: tool.name, args: { id } };
    const step = { ...nowhere, principal, credential, loadedSkills: new Set<string>() };
    const only: Toolbox = { tools: [tool], find: () => tool };
    const result = await runTool(only, call, step, AbortSignal.any([signal, late.signal]));
    return result.kind === "ok" ? result.data : undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (late.signal.aborted) return undefined;
    throw error;
  } finally {
    late.abort();
    await timer;
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

function textAt(value: unknown, ...path: readonly string[]): string | undefined {
  const found = path.reduce<unknown>((inner, key) => (isRecord(inner) ? inner[key] : undefined), value);
  return typeof found === "string" ? found : undefined;
}

/** "Sleep plan (draft): Magnesium Glycinate 200 mg, 1 capsule at night; …" The projection caps it. */
function outlineOf(plans: unknown): string | undefined {
  const all = isRecord(plans) ? plans["plans"] : undefined;
  const plan: unknown = Array.isArray(all) ? all[0] : undefined;
  if (!isRecord(plan)) return undefined;
  const items = Array.isArray(plan["items"]) ? plan["items"].filter(isRecord) : [];
  const lines = items.map((item) => [textAt(item, "name"), textAt(item, "dosing")].filter(Boolean).join(", "));
  return `${textAt(plan, "title") ?? "Untitled"} (${textAt(plan, "status") ?? "draft"}): ${lines.join("; ")}`;
}
