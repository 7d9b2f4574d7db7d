import { MIGRATION_ADVISORY_LOCK_KEY } from "bullmq";
import { afterEach, describe, expect, test } from "vitest";
import { failureCode } from "../../machines/failure.ts";
import { type CutWire, cutWire } from "../testing/cut-wire.ts";
import { JOBS_SCHEMA } from "./postgres-link.ts";
import { postgresFarEnd } from "./testing/far-ends.ts";
import { asked, type JobsScene, jobsScene, keyOf, nodeOf, parentWaits, until } from "./testing/jobs-scene.ts";

let scene: JobsScene;
let wire: CutWire;
const rejections: unknown[] = [];
const onRejection = (reason: unknown) => rejections.push(reason);

/** The queues reach the database over a line that can be cut; our own tables are reached without it. */
async function open() {
  process.on("unhandledRejection", onRejection);
  const lines: Promise<CutWire>[] = [];
  scene = await jobsScene((stored) => {
    lines.push(cutWire(stored.url));
    return postgresFarEnd(stored);
  });
  wire = await (lines[0] as Promise<CutWire>);
  return nodeOf({ kind: "postgres", url: wire.url });
}

describe("the database of the queues goes away", () => {
  afterEach(async () => {
    await scene.close();
    await wire.close();
    process.off("unhandledRejection", onRejection);
    expect(rejections.splice(0)).toEqual([]);
  });

  test("G-04 a process that starts meanwhile says so, refuses jobs in time, and works once it is back", async () => {
    const early = await open();
    await early.close();
    await wire.cut();
    const node = nodeOf({ kind: "postgres", url: wire.url });
    node.workers({
      subagents: async ({ data }) => {
        const claim = await scene.store.subagents.claim(keyOf(data));
        if (claim.kind === "claimed") {
          await scene.store.subagents.finish(keyOf(data), 1, { state: "finished", result: "done" });
        }
      },
    });
    const one = await asked(scene);
    const began = performance.now();
    expect(await node.producer.add("subagents", one.data).catch(failureCode)).toBe("jobs_unavailable");
    expect(performance.now() - began).toBeLessThan(2_100);
    expect(await node.backend.ready(100)).toMatchObject({ state: "degraded", code: "jobs_unreachable" });
    expect(node.problems.length).toBeLessThanOrEqual(2);
    await wire.mend();
    await until(() => node.backend.health().state === "ready");
    const id = await node.producer.add("subagents", one.data);
    expect(await parentWaits(scene, node, one, id)).toMatchObject({ result: "done" });
    await node.close();
  });

  test("G-04 it goes while the queues' tables are made: that is done again once it is back", async () => {
    const first = await open();
    await first.close();
    const { sql } = scene.stored;
    await sql`drop schema if exists bullmq cascade`;
    const holder = await sql.reserve();
    await holder`select pg_advisory_lock(${MIGRATION_ADVISORY_LOCK_KEY}, hashtext(${JOBS_SCHEMA}))`;
    const node = nodeOf({ kind: "postgres", url: wire.url });
    const waiting = () => sql`
      select from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`;
    await until(async () => (await waiting()).length > 0);
    await wire.cut();
    await holder`select pg_advisory_unlock(${MIGRATION_ADVISORY_LOCK_KEY}, hashtext(${JOBS_SCHEMA}))`;
    holder.release();
    await until(() => node.problems.length > 0);
    await wire.mend();
    await until(() => node.backend.health().state === "ready");
    await node.producer.add("subagents", (await asked(scene)).data);
    await node.close();
  });

  test("G-04 it goes while jobs are added, and when it closes: each gets its answer in time", async () => {
    const node = await open();
    await node.backend.ready(10_000);
    const [one, two] = [await asked(scene), await asked(scene)];
    await node.producer.add("subagents", one.data);
    await node.waits;
    await wire.cut();
    const began = performance.now();
    expect(await node.producer.add("subagents", two.data).catch(failureCode)).toBe("jobs_unavailable");
    expect(performance.now() - began).toBeLessThan(2_100);
    await node.close();
    expect(performance.now() - began).toBeLessThan(7_000);
  });

  test("G-07 a wrong password is told once, as an error", async () => {
    const unused = await open();
    await unused.close();
    const url = new URL(scene.stored.url);
    url.password = "wrong";
    const node = nodeOf({ kind: "postgres", url: url.href });
    expect(await node.backend.ready(1_000)).toMatchObject({ state: "degraded", code: "jobs_login_refused" });
    expect(node.problems).toEqual([{ level: "error", code: "jobs_login_refused", times: 1 }]);
    await node.close();
  });

  test("G-07 connections are few, named, and gone after closing", async () => {
    const node = await open();
    const named = () => scene.stored.sql<{ name: string; n: number }[]>`
      select application_name as name, count(*)::int as n from pg_stat_activity
      where datname = current_database() and application_name like 'dormouse-jobs%' group by 1`;
    node.workers({ subagents: async () => {}, summaries: async () => {} });
    await node.waits;
    await node.backend.ready(10_000);
    await Promise.all(
      Array.from({ length: 40 }, async () => node.producer.add("subagents", (await asked(scene)).data)),
    );
    await until(async () => (await node.backend.queue("subagents").getJobCountByTypes("waiting", "active")) === 0);
    const names = await named();
    const total = names.reduce((sum, { n }) => sum + n, 0);
    expect(total).toBeLessThanOrEqual(12);
    expect(
      names
        .map(({ name }) => name)
        .filter((name) => name !== "dormouse-jobs")
        .sort(),
    ).toEqual([
      "dormouse-jobs subagents",
      "dormouse-jobs subagents:qe",
      "dormouse-jobs summaries",
      "dormouse-jobs summaries:qe",
    ]);
    await node.close();
    await until(async () => (await named()).length === 0);
  });
});
