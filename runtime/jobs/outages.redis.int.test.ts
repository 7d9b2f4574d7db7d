import { randomBytes } from "node:crypto";
import type { RedisQueueBackend } from "bullmq";
import type { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { failureCode } from "../../machines/failure.ts";
import { type CutWire, cutWire } from "../testing/cut-wire.ts";
import { hasRedis, TEST_REDIS_URL, type TestRedis, testRedis } from "../testing/redis.ts";
import { redisFarEnd } from "./testing/far-ends.ts";
import {
  asked,
  gate,
  type JobsScene,
  jobsScene,
  keyOf,
  type Node,
  nodeOf,
  parentWaits,
  QUICK,
  until,
} from "./testing/jobs-scene.ts";
import { draftsOf, summariserOf, summedUp, worksOnSummaries } from "./testing/summary-scene.ts";

let scene: JobsScene;
let wire: CutWire;
let far: TestRedis;
const rejections: unknown[] = [];
const onRejection = (reason: unknown) => rejections.push(reason);

/** What Redis knows of the options of a connection. */
const clientOf = async (queue: { getBackend(): unknown }) =>
  (await (queue.getBackend() as RedisQueueBackend).client) as unknown as Redis;
const codesOf = ({ problems }: Node, level: string) =>
  problems.filter((one) => one.level === level).map(({ code }) => code);

async function timed<T>(work: Promise<T>): Promise<{ readonly ms: number; readonly code: string }> {
  const began = performance.now();
  const code = await work.then(() => "done", failureCode);
  return { ms: performance.now() - began, code };
}

describe.runIf(await hasRedis("runtime/jobs/outages"))("Redis goes away", () => {
  beforeEach(async () => {
    far = testRedis();
    wire = await cutWire(far.url);
    process.on("unhandledRejection", onRejection);
    scene = await jobsScene(() => ({
      ...redisFarEnd(),
      connection: { kind: "redis", url: wire.url, prefix: far.prefix },
    }));
  });
  afterEach(async () => {
    await scene.close();
    await wire.close();
    await far.drop();
    process.off("unhandledRejection", onRejection);
    expect(rejections.splice(0)).toEqual([]);
  });

  const echo = (node: Node, options = {}) =>
    node.workers(
      {
        subagents: async ({ data }) => {
          const claim = await scene.store.subagents.claim(keyOf(data));
          if (claim.kind === "refused") return;
          await scene.store.subagents.finish(keyOf(data), claim.row.attempt, { state: "finished", result: "done" });
        },
      },
      options,
    );

  test("G-04 a process that starts while Redis is down says so, refuses jobs in time, and works once it is back", async () => {
    await wire.cut();
    const node = scene.node();
    echo(node);
    const one = await asked(scene);
    const first = await timed(node.producer.add("subagents", one.data));
    expect(first.code).toBe("jobs_unavailable");
    expect(first.ms).toBeLessThan(2_100);
    expect(await node.backend.ready(100)).toMatchObject({ state: "degraded", code: "jobs_unreachable" });
    // Away for longer: nobody waits for it any more.
    await until(async () => (await timed(node.producer.add("subagents", one.data))).ms < 50);
    await wire.mend();
    expect(await node.backend.ready(10_000)).toMatchObject(node.backend.health());
    await until(() => node.backend.health().state === "ready");
    const id = await node.producer.add("subagents", one.data);
    expect(await parentWaits(scene, node, one, id)).toMatchObject({ result: "done" });
    expect(codesOf(node, "info")).toContain("jobs_ready");
  });

  test("G-04 it goes while jobs are added: each gets its answer within two seconds, and none is kept for later", async () => {
    const node = scene.node();
    await node.backend.ready(5_000);
    await node.producer.add("subagents", (await asked(scene)).data);
    const rest = await Promise.all(Array.from({ length: 40 }, () => asked(scene)));
    await wire.cut();
    const ends = await Promise.all(rest.map(({ data }) => timed(node.producer.add("subagents", data))));
    expect(ends.map(({ code }) => code)).toEqual(rest.map(() => "jobs_unavailable"));
    expect(Math.max(...ends.map(({ ms }) => ms))).toBeLessThan(2_100);
    await wire.mend();
    await until(() => node.backend.health().state === "ready");
    expect(await node.backend.queue("subagents").getJobCountByTypes("waiting", "delayed", "active")).toBe(1);
  });

  test("G-04 a turn that needs a summary loses two seconds at most, and none once it is known; then summaries go on", async () => {
    const node = scene.node();
    await node.backend.ready(5_000);
    const work = await summedUp(scene);
    const { drafts, failures } = draftsOf(scene, node);
    await wire.cut();
    const [first, second] = [await timed(drafts.make(work)), await timed(drafts.make(work))];
    expect([first.code, second.code]).toEqual(["jobs_unavailable", "jobs_unavailable"]);
    expect(Math.max(first.ms, second.ms)).toBeLessThan(2_100);
    expect(failures.map(failureCode)).toEqual(["jobs_unavailable", "jobs_unavailable"]);
    worksOnSummaries(scene, node, summariserOf(async () => "So far.").summariser);
    await wire.mend();
    await until(() => node.backend.health().state === "ready");
    // Ahead of time too: that it was away is no reason not to try again.
    drafts.prepare(work);
    await until(() => drafts.isReady(work.sessionId, 0));
    await drafts.close();
  });

  test("G-04 it comes and goes while a job runs: the result is seen at once, the job ends when it is back", async () => {
    const node = scene.node();
    const [began, go] = [gate(), gate()];
    const workers = node.workers({
      subagents: async ({ data, progress }) => {
        const claim = await scene.store.subagents.claim(keyOf(data));
        began.open();
        await go.opened;
        // Nobody hears it, and it does not hold the work up.
        for (let n = 0; n < 1_000; n++) progress({ phase: "searching", n });
        if (claim.kind === "claimed")
          await scene.store.subagents.finish(keyOf(data), claim.row.attempt, { state: "finished", result: "done" });
      },
    });
    const one = await asked(scene);
    const id = await node.producer.add("subagents", one.data);
    await began.opened;
    await wire.cut();
    go.open();
    expect(await parentWaits(scene, node, one, id)).toMatchObject({ result: "done" });
    await wire.mend();
    await until(() => node.backend.health().state === "ready");
    await until(async () => (await node.backend.queue("subagents").getJobState(id)) === "completed");
    expect(workers.running()).toBe(0);
  });

  test("G-02 G-04 closing while Redis is down ends in time, whether it was ever there or not", async () => {
    const [used, unused] = [scene.node(), scene.node()];
    echo(used);
    await used.backend.ready(5_000);
    const one = await asked(scene);
    expect(await parentWaits(scene, used, one, await used.producer.add("subagents", one.data))).toMatchObject({
      result: "done",
    });
    await wire.cut();
    await unused.close();
    const late = scene.node();
    echo(late);
    await late.waits;
    for (const node of [used, late]) {
      const { ms, code } = await timed(node.close());
      expect(code).toBe("done");
      expect(ms).toBeLessThan(6_000);
    }
  });

  test("G-07 whoever adds gives up soon and keeps nothing; workers never give up; their connections are separate", async () => {
    const node = scene.node();
    echo(node);
    await node.waits;
    await node.backend.ready(5_000);
    const adding = (await clientOf(node.backend.queue("subagents"))).options;
    const worker = node.backend.worker("summaries", async () => {}, { concurrency: 1, times: QUICK });
    const working = (await clientOf(worker)).options;
    const blocking = (await (worker.getBackend() as unknown as RedisQueueBackend).blockingClient) as unknown as Redis;
    expect([adding.maxRetriesPerRequest, adding.enableOfflineQueue, adding.commandTimeout]).toEqual([1, false, 1_500]);
    expect([working.maxRetriesPerRequest, blocking.options.maxRetriesPerRequest]).toEqual([null, null]);
    await worker.close();
    const names = async () => {
      const list = String(await far.redis.client("LIST"));
      return list.split("\n").filter((line) => line.includes(` name=${far.prefix}:`)).length;
    };
    // Adding, what workers share, one worker's and two readers' own.
    await until(async () => (await names()) === 5);
  });

  test("G-07 a wrong password is told once, as an error; the process goes on", async () => {
    const name = `jobs-${randomBytes(6).toString("hex")}`;
    await far.redis.call("ACL", "SETUSER", name, "on", ">right", "~*", "&*", "+@all");
    try {
      const url = new URL(TEST_REDIS_URL);
      url.username = name;
      url.password = "wrong";
      const node = nodeOf({ kind: "redis", url: url.href, prefix: far.prefix });
      echo(node);
      await node.waits;
      expect(await node.backend.ready(3_000)).toMatchObject({ state: "degraded", code: "jobs_login_refused" });
      expect(node.problems).toEqual([{ level: "error", code: "jobs_login_refused", times: 1 }]);
      const { code } = await timed(node.producer.add("subagents", (await asked(scene)).data));
      expect(code).toBe("jobs_unavailable");
      await node.close();
    } finally {
      await far.redis.call("ACL", "DELUSER", name);
    }
  });

  test("G-07 a server that may throw jobs away is warned of", async () => {
    const [, policy = "noeviction"] = (await far.redis.config("GET", "maxmemory-policy")) as string[];
    await far.redis.config("SET", "maxmemory-policy", "allkeys-lru");
    try {
      const node = scene.node();
      await until(() => codesOf(node, "warn").length > 0);
      expect(codesOf(node, "warn")).toEqual(["jobs_eviction_policy"]);
    } finally {
      await far.redis.config("SET", "maxmemory-policy", policy);
    }
  });
});
