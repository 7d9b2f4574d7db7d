import { afterAll, beforeAll, expect, test } from "vitest";
import { assist } from "../assist.config.ts";
import { callId } from "../machines/ids.ts";
import { loadSkills } from "../skills/registry.ts";
import { runTool } from "./execute.ts";
import { type McpServers, mcpServers } from "./mcp/servers.ts";
import { caller, contextOf, never } from "./mcp/testing/scene.ts";
import { draftsIn, extension, planCardOf, proposalCall, storedText } from "./plan-writing.ts";
import { type TestPlatform, testPlatform } from "./platform/testing/platform.ts";
import type { ToolAnswer, ToolResult } from "./tool.ts";
import { toolboxes } from "./toolbox.ts";

/** Assist's whole toolbox over the real platform. */
let platform: TestPlatform;
let mcp: McpServers;
let ask: (name: string, args: unknown, call?: string) => Promise<ToolResult>;
const run = async (name: string, args: unknown, call?: string): Promise<ToolAnswer> => {
  const result = await ask(name, args, call);
  if (result.kind === "pause") throw new TypeError(`${name} asks the user`);
  return result;
};
const events: unknown[] = [];
const ALL = ["plan_builder", "research", "interactions", "labs"];

beforeAll(async () => {
  platform = await testPlatform();
  const { url } = await platform.start();
  mcp = mcpServers({
    servers: [{ name: "platform", url: new URL("/mcp", url).href, bareNames: true }],
    observe: (event) => void events.push(event),
  });
  const boxes = toolboxes({ agent: assist, skills: loadSkills({ names: assist.skills }), mcp });
  const who = caller("dr-rivera", await platform.login(url, "dr-rivera"), ALL);
  ask = async (name, args, call = "c") => {
    const toolbox = await boxes.toolboxFor(who.principal, who.credential);
    expect(toolbox.missing).toEqual([]);
    const { callId: _, idempotencyKey: __, call: ___, ...step } = contextOf(who);
    return runTool(toolbox, { callId: callId(call), name, args }, step, never);
  };
});

afterAll(async () => {
  await mcp.close();
  await platform.close();
});

const ok = (result: ToolAnswer) => {
  if (result.kind !== "ok") throw new TypeError(`${result.reason}: ${result.text}`);
  return result;
};

test("what a search gives can be shown: supplements, labs, sources, interactions, articles", async () => {
  const products = ok(await run("product_search", { query: "magnesium glycinate", limit: "1" })).data as {
    products: { id: string; name: string; availableOrMasterVariant: { id: string } }[];
  };
  const [product] = products.products;
  const variant_id = product?.availableOrMasterVariant.id;
  const shown = ok(await run("recommend_supplements", { supplements: [{ variant_id, dosing: "1", rationale: "r" }] }));
  expect(shown.card?.kind === "recommend_supplements" && shown.card.data.supplements[0]).toMatchObject({
    product_id: product?.id,
    variant_id,
    name: product?.name,
    strength: "200 mg elemental",
  });
  expect(
    (await run("recommend_supplements", { supplements: [{ variant_id: "var-0", dosing: "1", rationale: "r" }] })).text,
  ).toBe('Nothing was shown: unknown variant_id "var-0". Use only ids that product_search returned.');

  const labs = ok(await run("recommend_labs", { lab_ids: ["ferritin", "vitamin-b12"] }));
  expect(labs.text).toMatch(/^The user sees a card with: Ferritin \(ferritin\), /);

  const search = ok(await run("evidence_search", { query: "magnesium sleep" }));
  expect(search.card).toBe(undefined);
  const [study] = (search.data as { evidence: { id: string }[] }).evidence;
  expect(ok(await run("cite_sources", { evidence_ids: [study?.id] })).card?.kind).toBe("citations");

  const check = ok(await run("interaction_check", { items: ["warfarin", "St John's wort"] }));
  expect(check.card?.kind === "interaction_check_results" && check.card.data.findings[0]?.severity).toBe("major");
  expect(ok(await run("knowledge_base_search", { query: "place an order" })).card?.kind).toBe("knowledge_base_results");
  expect(events.filter((event) => JSON.stringify(event).includes("mismatch"))).toEqual([]);
});

test("a plan is created once for one call, whatever is repeated", async () => {
  const args = { patientId: "pat-001", title: "Sleep", items: [] };
  const first = ok(await run("treatment_plan_create", args, "write-1"));
  expect(ok(await run("treatment_plan_create", args, "write-1")).data).toEqual(first.data);
  const { plans } = ok(await run("treatment_plan_get", { patientId: "pat-001" })).data as { plans: unknown[] };
  expect(plans).toHaveLength(1);
  expect(await run("treatment_plan_create", { patientId: "pat-999", items: [] }, "write-2")).toMatchObject({
    kind: "error",
    reason: "tool",
  });
});

test("the picker lists the caller's patients; a proposal is stored by the call that is made of it, then extended", async () => {
  const picker = await ask("ask_question", { question: "Which patient?", kind: "patient_picker" });
  if (picker.kind !== "pause") throw new TypeError("the picker did not ask");
  const { options = [], openEnded } = picker.asked;
  expect([options.length, options[1], openEnded]).toEqual([
    12,
    { id: "pat-002", label: "Tobiah Wrenford, born 1951-11-03" },
    undefined,
  ]);

  const { products } = ok(await run("product_search", { query: "magnesium glycinate", inStock: true, limit: 2 }))
    .data as {
    products: { name: string; availableOrMasterVariant: { id: string } }[];
  };
  const [first, second] = products.map(({ availableOrMasterVariant: { id }, name }) => ({ id, name }));
  const proposed = async (variant_id: string | undefined, more: object) => {
    const result = await ask("propose_plan", {
      ...{ patient_id: "pat-002", title: "Cramps", summary: "Magnesium for cramps." },
      items: [{ variant_id, dosing: "1 at night", rationale: "Low." }],
      ...more,
    });
    if (result.kind !== "pause" || result.asked.proposal === undefined) throw new TypeError(JSON.stringify(result));
    return result.asked.proposal;
  };
  const created = proposalCall(assist.planTools, await proposed(first?.id, { labs: ["ferritin"], notes: "Space it." }));
  const card = planCardOf(ok(await run(created.name, created.args, "accept-1")).data, "created");
  if (card === undefined) throw new TypeError("no card");
  expect(storedText(card)).toBe(
    `[The system created draft plan ${card.plan_id} "Cramps" for Tobiah Wrenford: ${first?.name}, 1 at night.]`,
  );

  const more = await proposed(second?.id, { plan_id: card.plan_id, labs: ["vitamin-b12"] });
  expect(more.labs?.map(({ id }) => id)).toEqual(["vitamin-b12"]);
  const [before] = draftsIn(ok(await run("treatment_plan_get", { id: card.plan_id })).data);
  if (before === undefined) throw new TypeError("no draft");
  const { name, args } = extension(assist.planTools, more, before).call ?? { name: "none", args: {} };
  expect(planCardOf(ok(await run(name, args, "accept-2")).data, "updated")?.items.map((item) => item.name)).toEqual([
    first?.name,
    second?.name,
  ]);
  const [draft] = draftsIn(ok(await run("treatment_plan_get", { patientId: "pat-002" })).data);
  const { id, notes, labs } = draft ?? { id: "", notes: "", labs: [] };
  const dosings = [second?.id ?? "", "var-0"].map((variant) => draft?.held(variant)?.dosing);
  expect([id, notes, labs.map((lab) => lab.id), dosings]).toEqual([
    ...[card.plan_id, "Space it.", ["ferritin", "vitamin-b12"]],
    [more.items[0]?.dosing, undefined],
  ]);
});
