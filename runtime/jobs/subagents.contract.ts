import { afterEach, describe, expect, test } from "vitest";
import type { ModelRequest } from "../../machines/model.ts";
import type { Store } from "../../persistence/store.ts";
import type { StoreScene } from "../../persistence/testing/store-scene.ts";
import { loadSkills } from "../../skills/registry.ts";
import { spawnResearchAgent } from "../../tools/builtin/spawn-research.ts";
import type { Tool } from "../../tools/tool.ts";
import type { PrincipalToolbox } from "../../tools/toolbox.ts";
import { realChance, realClock } from "../effects.ts";
import { calls, decides, hangs, type Move, says, scriptedModel } from "../models/scripted.ts";
import { kill, takeOver } from "../sessions/testing/looks.ts";
import { Client, rivera, node as sessionsNode } from "../sessions/testing/scene.ts";
import { sweep } from "../sessions/upkeep.ts";
import { queuedSubagents } from "./queued-subagents.ts";
import { type SubagentNote, subagentProcessor } from "./subagent-processor.ts";
import { SUBAGENT_SKILLS } from "./subagents/parts.ts";
import { type FarEnd, gate, type JobsScene, jobsScene, keyOf, type Node, until } from "./testing/jobs-scene.ts";

const MARK = "PHI-MARK-91";
const COOKIE = "COOKIE-MARK-77";
const caller = { principal: { ...rivera.principal, flags: ["research"] }, credential: { cookie: `session=${COOKIE}` } };

const study = (n: number) => ({
  id: `ev-${n}`,
  title: `Study ${n}`,
  year: 2020,
  journal: "Journal",
  url: null,
  finding: "It helped. ".repeat(20),
});
const evidence: Tool = {
  name: "evidence_search",
  title: "Searching the evidence",
  description: "search",
  inputSchema: { type: "object" },
  traits: { readOnly: true, repeatable: true },
  run: async () => ({
    kind: "ok",
    text: JSON.stringify(Array.from({ length: 12 }, (_, n) => study(n))).repeat(2),
    data: { evidence: Array.from({ length: 12 }, (_, n) => study(n)) },
  }),
};

const lastKind = ({ entries }: ModelRequest) => entries.at(-1)?.kind;
/** Searches twice, then chooses. */
const researcher = decides((request) => {
  const results = request.entries.filter((entry) => entry.kind === "tool_result").length;
  if (results < 2) return calls("search_evidence", { query: `query ${results}` });
  return calls("finish_research", { selected_ids: ["ev-1", "ev-2"], planner_reflection: "Both trials agree." });
});
const parent = decides((request) => {
  const said = request.entries.at(-1);
  if (lastKind(request) === "user") return calls("spawn_research_agent", { question: `${MARK}: what is known?` });
  return says(said?.kind === "tool_result" ? said.text : "nothing");
});

/** Sub-agents from the parent's call to its result, over a real queue. Both backends run this same suite. */
export function subagentsContract(name: string, farEnd: (stored: StoreScene) => FarEnd): void {
  describe(`sub-agents on ${name}`, () => {
    let scene: JobsScene;
    const open = async () => {
      scene = await jobsScene(farEnd);
      return scene;
    };
    afterEach(() => scene.close());

    /** A process that owns sessions and asks for sub-agents. */
    const owner = (store: Store, jobs: Node, limits: { deadlineMs?: number } = {}) => {
      const clock = { ...realClock, now: () => Date.now() - (limits.deadlineMs ?? 0) };
      const one = sessionsNode(store, {
        model: scriptedModel(parent),
        world: (made) => ({
          capabilities: async (who) => {
            const tools = [
              spawnResearchAgent(
                queuedSubagents({
                  ...{ store: store.subagents, producer: jobs.producer, waits: jobs.waits, clock },
                  fenceOf: (id) => one.directory.fenceOf(id),
                  isDraining: () => one.directory.isDraining,
                }),
              ),
            ];
            const toolbox = { tools, find: (wanted: string) => tools.find((tool) => tool.name === wanted) };
            return { ...(await made.capabilities(who)), toolbox };
          },
        }),
      });
      return one;
    };

    /** A process that works: `asked` lists the model's requests, `notes` what it thought worth a line. */
    const worker = (store: Store, jobs: Node, move: Move = researcher) => {
      const model = scriptedModel(move);
      const notes: SubagentNote[] = [];
      const toolbox: PrincipalToolbox = {
        ...{ tools: [evidence], degraded: false, missing: [] },
        find: (wanted) => (wanted === evidence.name ? evidence : undefined),
      };
      const workers = jobs.workers({
        subagents: subagentProcessor({
          ...{ store, model, clock: realClock, chance: realChance, observe: () => {}, maxOutputTokens: 1_000 },
          skills: loadSkills({ names: SUBAGENT_SKILLS }),
          toolboxes: { toolboxFor: async () => toolbox },
          note: (event) => notes.push(event),
        }),
      });
      return { model, notes, workers };
    };

    const talking = async (one: ReturnType<typeof owner>) => {
      const id = await one.conversations.create(caller);
      return { id, client: await Client.open(one.conversations, id, undefined, caller) };
    };
    const resultOf = async (store: Store, id: Awaited<ReturnType<typeof talking>>["id"]) =>
      (await store.histories.load(id, 0)).flatMap(({ entry }) =>
        entry.kind === "tool_result" ? [[entry.outcome, entry.text] as const] : [],
      );

    test("[SG20] the parent gains one small result, the child's reading stays its own, progress and panel are shown", async () => {
      const { store, node } = await open();
      const progressed = gate();
      // Progress that is slower than the end is not shown: the end waits for it here.
      const { model } = worker(store, node(), async function* (request, signal, turn) {
        if (request.entries.some(({ kind }) => kind === "tool_result")) await progressed.opened;
        yield* researcher(request, signal, turn);
      });
      const one = owner(store, node());
      const { id, client } = await talking(one);
      await client.say("What is known?");
      await client.until("subagent_progress");
      progressed.open();
      await client.asleep();
      const [[outcome, text] = ["", ""]] = await resultOf(store, id);
      const read = model.requests.at(-1)?.entries.reduce((sum, entry) => sum + JSON.stringify(entry).length, 0) ?? 0;
      expect([outcome, Buffer.byteLength(text) < 4_000, read > 5_000]).toEqual(["ok", true, true]);
      const { research_bundle_id: bundle, ...told } = JSON.parse(text);
      const finding = told.sources[0].finding;
      expect(told).toEqual({
        sources: [1, 2].map((n) => ({ id: `ev-${n}`, title: `Study ${n}`, year: 2020, finding })),
        planner_reflection: "Both trials agree.",
      });
      expect(client.of("citations").map(({ bundle_id, sources }) => [bundle_id, sources.length])).toEqual([
        [bundle, 2],
      ]);
      const kinds = client.signals.map(({ kind }) => kind).filter((kind) => kind.startsWith("subagent_"));
      expect([kinds[0], kinds.at(-1), kinds.includes("subagent_progress")]).toEqual([
        "subagent_started",
        "subagent_finished",
        true,
      ]);
      const bundled = await store.bundles.find(id, bundle);
      expect(Object.keys(bundled as object).sort()).toEqual([
        "leftOut",
        "queries",
        "question",
        "reflection",
        "sources",
      ]);
      const rows = await scene.stored
        .sql`select purpose, step, call_id <> '' as named from model_calls where purpose = 'subagent' order by step`;
      expect(rows.map(({ step, named }) => [step, named])).toEqual([
        [1, true],
        [2, true],
        [3, true],
      ]);
    });

    test("G-06 neither what was asked nor the login is in the queue or in a table in clear, also when it fails", async () => {
      const { far, store, stored, node } = await open();
      let breaks = false;
      const child = worker(
        store,
        node(),
        decides((request) => {
          if (breaks) throw new TypeError(`${MARK} ${COOKIE}`);
          const isFresh = request.entries.at(-1)?.kind === "user";
          if (isFresh) return calls("search_evidence", { query: MARK });
          return calls("finish_research", { selected_ids: ["ev-1"], planner_reflection: MARK });
        }),
      );
      const one = owner(store, node());
      const first = await talking(one);
      for (const _ of ["answered", "broken"]) {
        first.client.clear();
        await first.client.say(`${MARK} once`);
        await first.client.asleep();
        breaks = true;
      }
      expect([(await resultOf(store, first.id)).map(([outcome]) => outcome), child.notes]).toEqual([
        ["ok", "error"],
        ["subagent.failed"],
      ]);
      const queued = await far.everything();
      expect([queued.includes(MARK), queued.includes(COOKIE), queued.length > 0]).toEqual([false, false, true]);
      const rows = await stored.sql`select row_to_json(s)::text as row from subagents s`;
      expect(rows.some(({ row }) => `${row}`.includes(MARK) || `${row}`.includes(COOKIE))).toBe(false);
    });

    test("D-15 a Stop reaches the child: it makes no other call of the model, and the row says so", async () => {
      const { store, stored, node } = await open();
      const child = worker(store, node(), hangs("reading"));
      const one = owner(store, node());
      const { client } = await talking(one);
      await client.say("What is known?");
      await until(() => child.model.requests.length === 1);
      await client.stop();
      await client.until("turn_cancelled");
      await until(() => child.notes.length > 0);
      const [row] = await stored.sql`select state, code from subagents`;
      expect([child.notes, child.model.requests.length, row?.["state"], row?.["code"]]).toEqual([
        ["subagent.cancelled"],
        1,
        "cancelled",
        "cancelled",
      ]);
    });

    test("D-15 a child that never answers costs its deadline: the turn goes on, a late result is ignored and told once", async () => {
      const { store, node } = await open();
      let release = () => {};
      const held = new Promise<void>((resolve) => (release = resolve));
      const slow: Move = async function* (request, signal, turn) {
        if (turn === 1) await held;
        yield* researcher(request, signal, turn);
      };
      const child = worker(store, node(), slow);
      // The call is 99 s old when it is made: one second is left.
      const one = owner(store, node(), { deadlineMs: 99_000 });
      const { id, client } = await talking(one);
      await client.say("What is known?");
      await client.asleep();
      const [[outcome, text] = ["", ""]] = await resultOf(store, id);
      expect([outcome, text.includes("time")]).toEqual(["error", true]);
      release();
      await until(() => child.notes.length > 0);
      // Whether it looked at its row before or after it had its result.
      expect([["subagent.cancelled"], ["subagent.late"]]).toContainEqual(child.notes);
      expect((await resultOf(store, id)).length).toBe(1);
    });

    test("D-15 a child whose result is malformed ends as an error of its call", async () => {
      const { store, node } = await open();
      const wrong = decides((request) =>
        calls("finish_research", {
          selected_ids: [`nothing-${request.entries.length}`],
          planner_reflection: "x".repeat(2_000_000),
        }),
      );
      const child = worker(store, node(), wrong);
      const one = owner(store, node());
      const { id, client } = await talking(one);
      await client.say("What is known?");
      await client.asleep();
      const [[outcome, text] = ["", ""]] = await resultOf(store, id);
      expect([outcome, text.length < 1_000, child.model.requests.length]).toEqual(["error", true, 9]);
    });

    test("D-15 a stored result that is malformed or 2 MB long is an error of its call, and none of it reaches the parent", async () => {
      const { store, node } = await open();
      const wrong: unknown[] = [
        { kind: "research", sources: "none" },
        { kind: "plan_builder", outcome: "envelope" },
        { kind: "research", bundleId: "b", sources: [], reflection: MARK.repeat(200_000) },
      ];
      node().workers({
        subagents: async ({ data }) => {
          await store.subagents.claim(keyOf(data));
          await store.subagents.finish(keyOf(data), 1, { state: "finished", result: wrong.shift() });
        },
      });
      const one = owner(store, node());
      const { id, client } = await talking(one);
      for (const _ of [1, 2, 3]) {
        client.clear();
        await client.say("What is known?");
        await client.asleep();
      }
      const results = await resultOf(store, id);
      expect(results.map(([outcome, text]) => [outcome, text.length < 1_000, text.includes(MARK)])).toEqual(
        Array.from({ length: 3 }, () => ["error", true, false]),
      );
    });

    test("D-08 [SG21] a parent that dies while its child works finds the same child again: one row, one result", async () => {
      const { store, stored, node } = await open();
      let release = () => {};
      const held = new Promise<void>((resolve) => (release = resolve));
      const slow: Move = async function* (request, signal, turn) {
        if (turn === 1) await held;
        yield* researcher(request, signal, turn);
      };
      const child = worker(store, node(), slow);
      const first = owner(store, node());
      const { id, client } = await talking(first);
      await client.say("What is known?");
      await until(() => child.model.requests.length === 1);
      kill(first as never);
      const next = owner(store, node());
      await takeOver(next as never);
      const again = await Client.open(next.conversations, id, undefined, caller);
      await sweep(next.directory, next.world, () => undefined);
      release();
      await again.asleep();
      const rows = await stored.sql`select state, attempt from subagents`;
      expect([
        rows.map(({ state, attempt }) => [state, attempt]),
        (await resultOf(store, id)).map(([outcome]) => outcome),
      ]).toEqual([[["finished", 1]], ["ok"]]);
    });
  });
}
