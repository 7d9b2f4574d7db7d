import { expect, test } from "vitest";
import { assist } from "../assist.config.ts";
import type { Clock } from "../machines/effects.ts";
import { userId } from "../machines/ids.ts";
import { loadSkills } from "../skills/registry.ts";
import type { Missing } from "../tools/mcp/servers.ts";
import type { Tool, ToolResult } from "../tools/tool.ts";
import type { PrincipalToolbox } from "../tools/toolbox.ts";
import { capabilitiesOf } from "./capabilities.ts";
import { realChance } from "./effects.ts";

const caller = {
  principal: { userId: userId("dr-chen"), name: "Dr Chen", flags: ["interactions"], preferences: {} },
  credential: { cookie: "c=1" },
};

const reads = (name: string, run: Tool["run"]): Tool => ({
  name,
  title: name,
  description: name,
  inputSchema: { type: "object" },
  traits: { readOnly: true, repeatable: true },
  run,
});
const ok = (data: unknown): ToolResult => ({ kind: "ok", text: "", data });

const boxOf = (tools: readonly Tool[], missing: readonly Missing[] = []): PrincipalToolbox => ({
  tools,
  find: (name) => tools.find((tool) => tool.name === name),
  degraded: missing.length > 0,
  missing,
});

/** Sleeps end when the test says so. */
function scene(tools: readonly Tool[]) {
  const alarms: (() => void)[] = [];
  const clock: Clock = {
    now: () => 0,
    monotonic: () => 0,
    every: () => () => undefined,
    soon: () => {},
    sleep: (_ms, signal) =>
      new Promise((resolve, reject) => {
        alarms.push(resolve);
        signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      }),
  };
  let list = async () => boxOf(tools);
  const toolboxes = { toolboxFor: () => list() };
  const of = capabilitiesOf({ agent: assist, skills: loadSkills(), toolboxes, clock, chance: realChance });
  const relist = (next: typeof list) => {
    list = next;
  };
  return { capabilities: of(caller), late: () => alarms.splice(0).map((ring) => ring()), relist };
}

test("the prompt lists the enabled skills and no others", async () => {
  const { system } = await scene([]).capabilities;
  expect(system).toMatch(/- interaction-depletion-check: /);
  expect(system).not.toMatch(/propose-plan|research-evidence/);
});

test("an entry point loads the skill it is for, unless a flag disables it", async () => {
  const capabilities = await scene([]).capabilities;
  const loaded = (entry: string) => capabilities.eager(entry).map(({ name }) => name);
  expect([loaded("check_interactions"), loaded("build_plan"), loaded("no_such")]).toEqual([
    ["interaction-depletion-check"],
    [],
    [],
  ]);
});

test("what is on the screen is named by the platform's own read tools", async () => {
  const seen: unknown[] = [];
  const patient = reads("patient_get", async (args) => {
    seen.push(args);
    return ok({ patient: { id: "pat-001", name: "Ada Example" } });
  });
  const plan = reads("treatment_plan_get", async () =>
    ok({ plans: [{ title: "Sleep", status: "draft", items: [{ name: "Magnesium", dosing: "1 at night" }] }] }),
  );
  const capabilities = await scene([patient, plan]).capabilities;
  const named = await capabilities.describe({ patientId: "pat-001", planId: "plan-1" }, new AbortController().signal);
  expect([seen, named]).toEqual([
    [{ id: "pat-001" }],
    {
      patient: { id: "pat-001", name: "Ada Example" },
      plan: { id: "plan-1", outline: "Sleep (draft): Magnesium, 1 at night" },
    },
  ]);
});

test("a platform that is slow, fails or knows nothing leaves the ids", async () => {
  const slow = reads("patient_get", (_args, _context, signal) => {
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
  });
  const broken = reads("treatment_plan_get", async () => ({ kind: "error", reason: "unavailable", text: "down" }));
  const { capabilities, late } = scene([slow, broken]);
  const naming = (await capabilities).describe({ patientId: "pat-9", planId: "plan-9" }, new AbortController().signal);
  await Promise.resolve();
  late();
  expect(await naming).toEqual({ patient: { id: "pat-9" }, plan: { id: "plan-9" } });
});

test("a turn that is cut short while it looks stops looking", async () => {
  const slow = reads("patient_get", (_args, _context, signal) => {
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
  });
  const capabilities = await scene([slow]).capabilities;
  const stop = new AbortController();
  const naming = capabilities.describe({ patientId: "pat-9" }, stop.signal);
  stop.abort(new Error("cancelled"));
  await expect(naming).rejects.toThrow("cancelled");
});

test("F-04 tools are listed anew for the next step; a list that can't be had now, or is late, leaves them as they are", async () => {
  const [old, fresh] = [reads("old", async () => ok(1)), reads("fresh", async () => ok(1))];
  const { capabilities, late, relist } = scene([old]);
  const first = await capabilities;
  const stop = new AbortController();
  const again = () => first.relisted?.(stop.signal);
  relist(async () => boxOf([fresh], [{ server: "b", reason: "unavailable", stale: true }]));
  const next = await again();
  expect([next?.toolbox.tools, next?.system, (next?.fixed.tools ?? 0) > 0]).toEqual([[fresh], first.system, true]);
  relist(async () => boxOf([], [{ server: "b", reason: "auth", stale: false }]));
  expect(await again()).toBe(first);
  relist(() => new Promise(() => undefined));
  const waiting = again();
  late();
  expect(await waiting).toBe(first);
  const stopped = again();
  stop.abort(new Error("cancelled"));
  await expect(stopped).rejects.toThrow("cancelled");
});
