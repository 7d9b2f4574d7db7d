import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Entry } from "../../machines/conversation/entries.ts";
import { words } from "../../machines/conversation/testing/turns.ts";
import type { ModelRequest } from "../../machines/model.ts";
import { loadedSkills } from "../../skills/loaded.ts";
import { registry } from "../../skills/registry.ts";
import { readSkill } from "../../skills/skill-file.ts";
import { loadSkill } from "../../tools/builtin/load-skill.ts";
import { readResult } from "../../tools/builtin/read-result.ts";
import type { Tool } from "../../tools/tool.ts";
import { compacting } from "./testing/compacting-scene.ts";
import { database } from "./testing/scene.ts";
import { type Answer, strictModel } from "./testing/strict-model.ts";
import type { World } from "./world.ts";

let db: Awaited<ReturnType<typeof database>>;
beforeAll(async () => {
  db = await database();
});
afterAll(() => db.end());

const last = (request: ModelRequest): Entry | undefined =>
  request.entries.filter(({ kind }) => kind !== "summary").at(-1);
const results = (request: ModelRequest | undefined) =>
  (request?.entries ?? []).flatMap((entry) => (entry.kind === "tool_result" ? [entry.text] : []));
const lookup = (text: () => string) => ({
  name: "lookup",
  run: async () => ({ kind: "ok" as const, text: text() }),
});
const withTools =
  (tools: readonly Tool[], more: Partial<Awaited<ReturnType<World["capabilities"]>>> = {}) =>
  (made: World): Partial<World> => ({
    capabilities: async (caller) => {
      const given = await made.capabilities(caller);
      const all = [...given.toolbox.tools, ...tools];
      const toolbox = { tools: all, find: (name: string) => all.find((tool) => tool.name === name) };
      return { ...given, toolbox, fixed: { system: 10, skills: 0, tools: 200 }, ...more };
    },
  });

describe("context", () => {
  test("C-14 25 calls in one turn: the size is checked before each, older turns go between two steps, the turn completes", async () => {
    const steps = 25;
    const model = strictModel(32_000, (request): Answer => {
      const said = request.entries.findLast((entry) => entry.kind === "user");
      if (said?.kind !== "user" || !said.text.startsWith("go")) return "Noted.";
      const turnId = said.turnId;
      const made = request.entries.filter((entry) => entry.kind === "assistant" && entry.turnId === turnId).length;
      return made < steps ? [{ tool: "lookup", args: { made } }] : "All of it is done.";
    });
    let n = 0;
    const scene = await compacting(db.store, {
      model,
      tools: [
        lookup(() => {
          n += 1;
          return `${n} ${words(1_200, n)}`;
        }),
      ],
      settings: {
        maxOutputTokens: 1_000,
        limits: { steps: 40, ms: 60_000, tokens: 100_000, repeats: 9, unknownSteps: 3 },
      },
    });
    for (const turn of [1, 2, 3, 4]) await scene.ask(`${turn} ${words(2_000, turn)}`);
    expect(await scene.ask("go")).toBe("completed");
    expect(scene.client.of("turn_completed")[0]).toMatchObject({ outcome: "completed", steps: steps + 1 });
    expect(Math.max(...model.sizes) + 1_000).toBeLessThanOrEqual(32_000);
    const summaries = (await db.store.histories.load(scene.id, 0)).filter(({ entry }) => entry.kind === "summary");
    expect(summaries.length).toBeGreaterThan(1);
    const final = model.requests.at(-1);
    // Its own latest result as it came; its oldest ones shortened, with a mark.
    expect([results(final).at(-1)?.length, results(final)[0]?.includes("characters were left out")]).toEqual([
      `${n} ${words(1_200, n)}`.length,
      true,
    ]);
    expect(scene.asked.length).toBe(1);
    await scene.end();
  });

  test("C-12 a result larger than the window is bounded before history, parallel ones together; the rest can be read", async () => {
    const huge = words(400_000);
    const model = strictModel(128_000, (request): Answer => {
      const end = last(request);
      if (end?.kind === "user" && end.text === "one") return [{ tool: "lookup" }];
      if (end?.kind === "user" && end.text === "three")
        return [1, 2, 3].map((of) => ({ tool: "lookup", args: { of } }));
      if (end?.kind === "user" && end.text === "read") {
        const named = /"call_id":"([^"]+)"/.exec(results(request).at(-1) ?? "")?.[1];
        return [{ tool: "read_result", args: { call_id: named, offset: 1_000_000, limit: 500 } }];
      }
      return "Done.";
    });
    const scene = await compacting(db.store, {
      model,
      tools: [lookup(() => huge)],
      world: withTools([readResult({ read: (id, call) => db.store.results.read(id, call) })]),
    });
    expect([await scene.ask("one"), await scene.ask("three"), await scene.ask("read")]).toEqual(
      Array.from({ length: 3 }, () => "completed"),
    );
    const [one] = results(model.requests[1]);
    expect([
      one?.length,
      one?.includes(`of ${huge.length.toLocaleString("en-US")}`),
      /call read_result with \{"call_id":"/.test(one ?? ""),
    ]).toEqual([24_000, true, true]);
    const three = results(model.requests[3]).slice(1);
    expect([three.length, three.reduce((sum, text) => sum + text.length, 0) <= 128_000 * 0.15 * 3]).toEqual([3, true]);
    expect(results(model.requests[5]).at(-1)).toBe(
      `[Characters 1000000 to 1000500 of ${huge.length}. Read on at offset 1000500.]\n${huge.slice(1_000_000, 1_000_500)}`,
    );
    const kept = await db.sql`select characters from results where session_id = ${scene.id}`;
    expect(kept.map((row) => row["characters"])).toEqual(Array.from({ length: 4 }, () => huge.length));
    const [snapshot] = await db.sql<{ bytes: number }[]>`
      select octet_length(snapshot) as bytes from sessions where id = ${scene.id}`;
    expect(snapshot?.bytes).toBeLessThan(2_000);
    await scene.end();
  });

  test("C-12 ten parallel results of a small window share what a step may have", async () => {
    const model = strictModel(
      32_000,
      (request): Answer =>
        last(request)?.kind === "user"
          ? Array.from({ length: 10 }, (_, of) => ({ tool: "lookup", args: { of } }))
          : "Done.",
    );
    const scene = await compacting(db.store, { model, tools: [lookup(() => words(5_000))] });
    expect(await scene.ask("ten")).toBe("completed");
    const total = results(model.requests[1]).reduce((sum, text) => sum + text.length, 0);
    expect([total <= 10 * 1_500, results(model.requests[1]).every((text) => /left out here/.test(text))]).toEqual([
      true,
      true,
    ]);
    await scene.end();
  });

  test("C-10 J-08 a skill that compaction washed out is loaded in full again, also after a thaw; one in context is not", async () => {
    const body = `Steps\n${words(850)}\nSTEP-7: always show totals`;
    const file = `---\nname: propose-plan\ndescription: Plans.\n---\n${body}\n`;
    const { skill } = readSkill(file, "propose-plan", "skills/propose-plan/SKILL.md");
    if (skill === undefined) throw new Error("the skill is not valid");
    const skills = registry([skill]);
    const model = strictModel(16_000, (request): Answer => {
      const end = last(request);
      return end?.kind === "user" && end.text.startsWith("plan")
        ? [{ tool: "load_skill", args: { name: "propose-plan" } }]
        : "Yes.";
    });
    const world = withTools([loadSkill(skills)], { loadedSkills: (entries) => loadedSkills(entries, skills, []) });
    const scene = await compacting(db.store, { model, world, settings: { maxOutputTokens: 500 } });
    await scene.ask("hello");
    await scene.ask("plan it");
    await scene.ask("plan again");
    const second = results(model.requests.at(-1));
    expect([second[0]?.includes("STEP-7: always show totals"), second[1]]).toEqual([
      true,
      "The skill propose-plan is loaded already: its instructions are above. Follow them.",
    ]);
    for (let n = 3; n <= 15; n++) await scene.ask(`${n} ${words(900, n)}`);
    expect(model.requests.at(-1)?.entries.some((entry) => entry.kind === "summary")).toBe(true);
    expect(results(model.requests.at(-1))).toEqual([]);
    await scene.ask("plan once more");
    expect(results(model.requests.at(-1)).map((text) => text.includes("STEP-7: always show totals"))).toEqual([true]);

    // Which skills were in context is read from the entries, for any turn.
    const history = await db.store.histories.load(scene.id, 0);
    const inContext = (until: number): readonly string[] => {
      const before = history.filter(({ pos }) => pos < until);
      const summary = before.findLast(({ entry }) => entry.kind === "summary")?.entry;
      const from = summary?.kind === "summary" ? summary.to : 0;
      return [
        ...loadedSkills(
          before.filter(({ pos }) => pos >= from).map(({ entry }) => entry),
          skills,
          [],
        ),
      ];
    };
    const users = history.filter(({ entry }) => entry.kind === "user").map(({ pos }) => pos);
    expect([inContext(users[2] ?? 0), inContext(users.at(-1) ?? 0), inContext(history.length)]).toEqual([
      ["propose-plan"],
      [],
      ["propose-plan"],
    ]);
    await scene.end();
  });
});
