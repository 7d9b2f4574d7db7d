import { afterEach, expect, test } from "vitest";
import { assist } from "../assist.config.ts";
import { callId } from "../machines/ids.ts";
import { loadSkills } from "../skills/registry.ts";
import { runTool } from "./execute.ts";
import { FakeMcpServer, type FakeTool } from "./mcp/testing/fake-server.ts";
import { caller, contextOf, never, scene } from "./mcp/testing/scene.ts";
import type { Subagents } from "./subagents.ts";
import { toolboxes } from "./toolbox.ts";

const running: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of running.splice(0).reverse()) await one.stop();
});

const ALL = ["plan_builder", "research", "interactions", "labs"];
const read = (name: string, structuredContent: unknown = {}): FakeTool => ({
  name,
  annotations: { readOnlyHint: true },
  run: () => ({ content: [], structuredContent }),
});
const studies = [
  {
    id: "ev-1",
    title: "Magnesium and sleep",
    year: 2012,
    journal: "J",
    url: "https://e.example/1",
    finding: "Slept better.",
  },
  { id: "ev-2", title: "Zinc", year: null, journal: null, url: "https://e.example/2", finding: "No difference." },
];
const product = {
  ...{
    id: "prd-1",
    brand: "Alderquill",
    name: "Magnesium Glycinate 200 mg",
    form: "capsule",
    inStock: false,
    exceedsUpperLimit: [],
  },
  supplements: [{ id: "magnesium", name: "Magnesium" }],
  ingredients: [{ supplementId: "magnesium", formId: "magnesium--glycinate", amount: 200, unit: "mg elemental" }],
  ...{ price: { amount: 24, currency: "USD" }, availableOrMasterVariant: { id: "var-1", sku: "S" } },
};
const finding = {
  ...{
    id: "int-1",
    a: "warfarin",
    b: "Vitamin K",
    severity: "major",
    mechanism: "m",
    effect: "e",
    advice: "a",
    evidenceLevel: "established",
  },
  sources: [{ title: "T", url: "https://e.example/s", year: 2001 }],
};
const lab = {
  id: "ferritin",
  name: "Ferritin",
  loinc: "2276-4",
  specimen: "Serum",
  referenceInterval: { text: "10-400 ng/mL", unit: "ng/mL" },
};

const plan = {
  ...{ id: "plan-1", patientId: "pat-1", patientName: "Ada Example", status: "draft", title: "Sleep", notes: null },
  items: [
    { id: "i-1", productId: "prd-1", variantId: "var-1", name: "Magnesium", brand: "Alderquill", dosing: "1 a day" },
  ],
};

function platform(): readonly FakeTool[] {
  return [
    {
      ...read("product_search"),
      run: ({ variantIds }) => {
        const products = (variantIds as string[]).includes("var-1") ? [product] : [];
        return { content: [], structuredContent: { products, total: products.length } };
      },
    },
    {
      ...read("interaction_check"),
      run: ({ items }) => ({
        content: [],
        structuredContent: { findings: (items as string[]).includes("warfarin") ? [finding] : [] },
      }),
    },
    read("lab_tests", { labs: [lab], total: 1 }),
    {
      ...read("evidence_search"),
      run: ({ query }) => ({
        content: [],
        structuredContent: { evidence: query === "magnesium" ? studies : [], total: 2 },
      }),
    },
    read("knowledge_base_search", {
      articles: [{ id: "h", title: "Orders", category: "ordering", body: "word ".repeat(200) }],
    }),
    { ...read("treatment_plan_create", { plan }), annotations: {} },
    read("load_skill"),
  ];
}

async function start(flags: readonly string[] = ALL, subagents?: Subagents) {
  const server = await FakeMcpServer.start(platform());
  const world = scene({ platform: server });
  running.push(server, { stop: () => world.mcp.close() });
  const taken: string[] = [];
  const boxes = toolboxes({
    agent: assist,
    skills: loadSkills({ names: assist.skills }),
    mcp: world.mcp,
    ...(subagents && { subagents }),
    onNameTaken: (name) => void taken.push(name),
  });
  const ana = caller("ana", "sid=ana", flags);
  const toolbox = (who = ana) => boxes.toolboxFor(who.principal, who.credential);
  const loaded = new Set<string>();
  const run = async (name: string, args: unknown, who = ana) => {
    const { callId: _, idempotencyKey: __, call: ___, ...step } = contextOf(who, { loadedSkills: loaded });
    const result = await runTool(await toolbox(who), { callId: callId("c"), name, args }, step, never);
    if (result.kind === "pause") throw new TypeError(`${name} asks the user`);
    return result;
  };
  return { ...world, server, taken, toolbox, run, ana };
}

const namesOf = ({ tools }: { tools: readonly { name: string }[] }) => tools.map(({ name }) => name);

test("disabled means absent, for builtins and discovered tools, and flags count at once", async () => {
  const { toolbox, taken, run } = await start();
  const always = [
    "ask_question",
    "knowledge_base_search",
    "load_skill",
    "product_search",
    "recommend_lifestyle",
    "recommend_supplements",
  ];
  const flagged = [
    "cite_sources",
    "evidence_search",
    "interaction_check",
    "lab_tests",
    "propose_plan",
    "recommend_labs",
    "treatment_plan_create",
  ];
  expect(namesOf(await toolbox())).toEqual([...always, ...flagged].sort());
  expect(namesOf(await toolbox(caller("ana", "sid=ana", [])))).toEqual(always);
  expect(taken).toEqual(["load_skill", "load_skill"]);
  expect(await run("cite_source", { evidence_ids: ["ev-1"] }, caller("ana", "sid=ana", []))).toEqual({
    kind: "error",
    reason: "unknown_tool",
    text: 'There is no tool "cite_source". Nothing was run. Call only tools that you were given.',
  });
});

test("a platform that is away leaves the builtins, and the caller is told", async () => {
  const { toolbox, server } = await start();
  server.fault = (_, response) => response.writeHead(503).end() !== undefined;
  const { degraded, missing, tools } = await toolbox();
  expect([degraded, missing]).toEqual([true, [{ server: "platform", reason: "unavailable", stale: false }]]);
  expect(namesOf({ tools })).toEqual([
    "ask_question",
    "cite_sources",
    "load_skill",
    "propose_plan",
    "recommend_labs",
    "recommend_lifestyle",
    "recommend_supplements",
  ]);
});

test("recommend_supplements: the card is the catalog's word, an unknown variant is named", async () => {
  const { run } = await start();
  const chosen = { variant_id: "var-1", dosing: "1 with dinner", rationale: "Low intake." };
  expect(await run("recommend_supplements", { supplements: [chosen, chosen] })).toEqual({
    kind: "ok",
    text: "The user sees these cards:\n- Magnesium Glycinate 200 mg, 200 mg elemental (productId prd-1, variantId var-1). Tell the user: OUT OF STOCK.",
    card: {
      kind: "recommend_supplements",
      data: {
        supplements: [
          {
            ...{ product_id: "prd-1", variant_id: "var-1", name: "Magnesium Glycinate 200 mg", brand: "Alderquill" },
            ...{ strength: "200 mg elemental", dosing: "1 with dinner", rationale: "Low intake." },
            ...{ price: { amount: 24, currency: "USD" }, in_stock: false },
          },
        ],
      },
    },
  });
  const forPatient = await run("recommend_supplements", { supplements: [chosen], patient_id: "pat-1" });
  expect(forPatient.kind === "ok" && forPatient.card?.kind === "recommend_supplements" && forPatient.card.data).toEqual(
    {
      patient_id: "pat-1",
      supplements: [
        {
          ...{ product_id: "prd-1", variant_id: "var-1", name: "Magnesium Glycinate 200 mg", brand: "Alderquill" },
          ...{ strength: "200 mg elemental", dosing: "1 with dinner", rationale: "Low intake." },
          ...{ price: { amount: 24, currency: "USD" }, in_stock: false },
        },
      ],
    },
  );
  expect(await run("recommend_supplements", { supplements: [chosen, { ...chosen, variant_id: "var-9" }] })).toEqual({
    kind: "error",
    reason: "tool",
    text: 'Nothing was shown: unknown variant_id "var-9". Use only ids that product_search returned.',
  });
});

test("recommend_labs and recommend_lifestyle show cards", async () => {
  const { run } = await start();
  expect(await run("recommend_labs", { lab_ids: ["ferritin"], rationale: "Fatigue." })).toEqual({
    kind: "ok",
    text: "The user sees a card with: Ferritin (ferritin).",
    card: {
      kind: "recommend_labs",
      data: {
        labs: [
          {
            id: "ferritin",
            name: "Ferritin",
            loinc: "2276-4",
            specimen: "Serum",
            reference: "10-400 ng/mL",
            rationale: "Fatigue.",
          },
        ],
      },
    },
  });
  expect((await run("recommend_labs", { lab_ids: ["nope"] })).text).toBe(
    'Nothing was shown: unknown lab id "nope". Use only ids that lab_tests returned.',
  );
  const recommendations = [{ title: "Sleep", detail: "Dark room." }];
  expect(await run("recommend_lifestyle", { recommendations })).toEqual({
    kind: "ok",
    text: "The user sees a card with: Sleep.",
    card: { kind: "recommend_lifestyle", data: { recommendations } },
  });
});

test("cite_sources: ids of this user's searches, by the query after a restart, never made up", async () => {
  const { run, server, ana } = await start();
  const { id, title, year, journal, url, finding } = studies[0] ?? { id: "" };
  const card = { kind: "citations", data: { sources: [{ id, title, year, journal, url, finding }] } };
  const cited = { kind: "ok", text: "The user sees a citation panel with: ev-1.", card };

  const unknown = 'Nothing was shown: unknown evidence id "ev-1". Use only ids that evidence_search returned.';
  expect((await run("cite_sources", { evidence_ids: ["ev-1"] })).text).toBe(unknown);
  expect(await run("cite_sources", { evidence_ids: ["ev-1"], query: "magnesium" })).toEqual(cited);
  const searches = server.calls.length;
  expect(await run("cite_sources", { evidence_ids: ["ev-1"] })).toEqual(cited);
  expect(server.calls.length).toBe(searches);
  expect((await run("cite_sources", { evidence_ids: ["ev-1"] }, caller("ben", "sid=ben", ALL))).text).toBe(unknown);
  expect((await run("cite_sources", { evidence_ids: [] }, ana)).kind).toBe("error");
});

test("decorations: titles, and cards from structured results; no findings, no card", async () => {
  const { run, toolbox } = await start();
  expect((await toolbox()).find("interaction_check")?.title).toBe("Checking interactions");
  const cardOf = async (name: string, args: unknown) => {
    const result = await run(name, args);
    return result.kind === "ok" ? result.card : result;
  };
  const { a, b, severity, mechanism, advice } = finding;
  expect(await cardOf("interaction_check", { items: ["warfarin", "vitamin K"] })).toEqual({
    kind: "interaction_check_results",
    data: { findings: [{ a, b, severity, mechanism, advice, sources: [{ title: "T", url: "https://e.example/s" }] }] },
  });
  expect(await cardOf("interaction_check", { items: ["zinc", "magnesium"] })).toBe(undefined);
  // cite_sources shows the studies an answer rests on, not the search that found them.
  expect(await cardOf("evidence_search", { query: "magnesium" })).toBe(undefined);
  expect(await cardOf("treatment_plan_create", { patientId: "pat-1", items: [] })).toEqual({
    kind: "treatment_plan",
    data: {
      ...{ change: "created", plan_id: "plan-1", title: "Sleep", patient_id: "pat-1", patient_name: "Ada Example" },
      items: [
        {
          ...{ item_id: "i-1", product_id: "prd-1", variant_id: "var-1", name: "Magnesium", brand: "Alderquill" },
          dosing: "1 a day",
        },
      ],
    },
  });
  const articles = [{ id: "h", title: "Orders", category: "ordering", excerpt: `${"word ".repeat(55).trim()}…` }];
  expect(await cardOf("knowledge_base_search", { query: "x" })).toEqual({
    kind: "knowledge_base_results",
    data: { articles },
  });
});

test("[J-08] a skill loaded twice, also in one batch: its body once, then a pointer", async () => {
  const { run } = await start();
  const [first, second] = await Promise.all([1, 2].map(() => run("load_skill", { name: "propose-plan" })));
  expect([
    first?.kind,
    first?.text.startsWith('<skill name="propose-plan" version="'),
    first?.kind === "ok" && first.skillLoaded,
  ]).toEqual(["ok", true, "propose-plan"]);
  const again = {
    kind: "ok",
    text: "The skill propose-plan is loaded already: its instructions are above. Follow them.",
  };
  expect(second).toEqual(again);
  expect(await run("load_skill", { name: "propose-plan" })).toEqual(again);
});

test("[J-03] missing, disabled and path names: one error text, no file read, nothing revealed", async () => {
  const { run } = await start(["labs"]);
  const names = ["treatment-plans", "propose-plan", "../../etc/passwd", "/abs/secret", "propose-plan.md", "__proto__"];
  for (const name of names)
    expect(await run("load_skill", { name })).toEqual({
      kind: "error",
      reason: "tool",
      text: `There is no skill "${name}". Skills: knowledge-base-answering.`,
    });
  const long = await run("load_skill", { name: "x".repeat(5_000) });
  expect(long.text).toBe(`There is no skill "${"x".repeat(64)}". Skills: knowledge-base-answering.`);
  expect((await run("load_skill", { name: 123 })).text).toBe(
    "load_skill was not run: its arguments do not fit its schema.\n- name: expected string, got 123",
  );
});

test("D-15 [J-03] tools that let sub-agents work are there with them, and only for whom they are enabled", async () => {
  const subagents: Subagents = { run: async () => ({ kind: "failed", code: "jobs_unavailable" }) };
  const { toolbox, run, ana } = await start(ALL, subagents);
  const working = (tools: readonly string[]) =>
    tools.filter((name) => ["build_plan", "spawn_research_agent"].includes(name));
  const of = async (...flags: string[]) => working(namesOf(await toolbox(caller("ana", "sid=ana", flags))));
  expect([await of(...ALL), await of("research"), await of("plan_builder"), await of()]).toEqual([
    ["build_plan", "spawn_research_agent"],
    ["spawn_research_agent"],
    ["build_plan"],
    [],
  ]);
  expect((await run("spawn_research_agent", { question: "Does it help?" }, ana)).text).toContain("jobs_unavailable");
  expect(working(namesOf(await (await start()).toolbox()))).toEqual([]);
});
