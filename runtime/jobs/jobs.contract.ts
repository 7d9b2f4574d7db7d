import { getEventListeners, setMaxListeners } from "node:events";
import { afterEach, describe, expect, test } from "vitest";
import { Failure } from "../../machines/failure.ts";
import type { SubagentOutcome } from "../../persistence/store.ts";
import type { StoreScene } from "../../persistence/testing/store-scene.ts";
import { jobId, jobOptions, KEPT } from "./queues.ts";
import {
  asked,
  dataOf,
  type FarEnd,
  gate,
  type JobsScene,
  jobsScene,
  keyOf,
  type Node,
  parentWaits,
  QUICK,
  until,
} from "./testing/jobs-scene.ts";
import type { Processor } from "./workers.ts";

class Overloaded extends Failure {
  readonly code = "overloaded";
  readonly retryable = true;
}
class Blocked extends Failure {
  readonly code = "blocked";
  readonly retryable = false;
}

/** Ends a sub-agent with what `work` gives; tells whether that is what the parent sees. */
function research(
  { store }: JobsScene,
  seen: boolean[],
  work: (attempt: number, signal: AbortSignal) => Promise<SubagentOutcome>,
): Processor<"subagents"> {
  return async ({ data, signal }) => {
    const claim = await store.subagents.claim(keyOf(data));
    if (claim.kind === "refused") return;
    const { attempt } = claim.row;
    const outcome = await work(attempt, signal);
    seen.push(await store.subagents.finish(keyOf(data), attempt, outcome));
  };
}

const found = (result: unknown): SubagentOutcome => ({ state: "finished", result });
const jobState = ({ backend }: Node, id: string) => backend.queue("subagents").getJobState(id);

/** The rules of the queues (runtime/jobs/README.md). Both backends run this same suite. */
export function jobsContract(farEnd: (stored: StoreScene) => FarEnd): void {
  describe("jobs", () => {
    let scene: JobsScene;
    const open = async () => {
      scene = await jobsScene(farEnd);
      return scene;
    };
    afterEach(() => scene.close());

    describe("one result", () => {
      test("G-01 a job whose lock ran out is done twice at the same time: one result is seen, the other is ignored quietly", async () => {
        const { far, node, store } = await open();
        const one = await asked(scene);
        const [first, second, parent] = [node(), node(), node()];
        const seen: boolean[] = [];
        const [began, slow] = [gate(), gate()];
        // Hears no signal, as one whose loop is blocked.
        const stuck = first.workers(
          {
            subagents: research(scene, seen, async (attempt) => {
              began.open();
              await slow.opened;
              return found(`from attempt ${attempt}`);
            }),
          },
          { concurrency: 1 },
        );
        const id = await parent.producer.add("subagents", one.data);
        await began.opened;
        const waits = parentWaits(scene, parent, one, id);
        await far.expireLock(id);
        second.workers({ subagents: research(scene, seen, async (attempt) => found(`from attempt ${attempt}`)) });
        expect(await waits).toEqual({
          ...one.key,
          kind: "research",
          attempt: 2,
          deadline: one.deadline,
          request: { question: "?" },
          state: "finished",
          result: "from attempt 2",
        });
        slow.open();
        await until(() => stuck.running() === 0);
        await until(() => seen.length === 2);
        expect(seen).toEqual([true, false]);
        expect((await store.subagents.load(one.key))?.attempt).toBe(2);
        const told = () => [...first.problems, ...second.problems].filter(({ code }) => code !== "jobs_ready");
        // The queue refuses the end of a job that is no longer his a little after that.
        await until(() => told().length > 0);
        expect(told().map(({ code }) => code)).toEqual(["job_lock_lost"]);
      });

      test("G-01 a worker that learns that another has its job stops, and makes nothing of it", async () => {
        const { far, node } = await open();
        const one = await asked(scene);
        const [first, parent] = [node(), node()];
        const reasons: unknown[] = [];
        const began = gate();
        const failed: string[] = [];
        first.workers(
          {
            subagents: ({ signal }) =>
              new Promise((_, reject) => {
                signal.addEventListener("abort", () => {
                  reasons.push(signal.reason);
                  reject(signal.reason);
                });
                began.open();
              }),
          },
          // Renewed soon.
          { times: { ...QUICK, lockMs: 300, stalledMs: 60_000 }, onFailure: (code) => failed.push(code) },
        );
        const id = await parent.producer.add("subagents", one.data);
        await began.opened;
        await far.expireLock(id);
        await until(() => reasons.length === 1 || far.connection.kind === "postgres");
        const codes = reasons.map((reason) => (reason instanceof Failure ? reason.code : reason));
        // PostgreSQL renews a lock that ran out, as long as nobody took the job.
        expect([codes, failed]).toEqual([far.connection.kind === "redis" ? ["job_lock_lost"] : [], []]);
      });

      test("G-01 a long job that works hard in short pieces keeps its lock", async () => {
        const { node } = await open();
        const one = await asked(scene);
        const [worker, rival, parent] = [node(), node(), node()];
        const seen: boolean[] = [];
        const times = { ...QUICK, lockMs: 1_200, stalledMs: 100 };
        let begun = 0;
        const subagents = research(scene, seen, async (attempt) => {
          begun += 1;
          for (const end = performance.now() + 3_000; performance.now() < end; ) {
            for (const slice = performance.now() + 20; performance.now() < slice; );
            await new Promise((resolve) => setImmediate(resolve));
          }
          return found(attempt);
        });
        worker.workers({ subagents }, { times });
        rival.workers({ subagents }, { times });
        const id = await parent.producer.add("subagents", one.data);
        expect(await parentWaits(scene, parent, one, id)).toMatchObject({ state: "finished", result: 1 });
        expect([begun, seen]).toEqual([1, [true]]);
      });

      test("G-01 the same job added twice is one job; one that ended without a result gets another in its place", async () => {
        const { node, store } = await open();
        const one = await asked(scene);
        const parent = node();
        const ids = [
          await parent.producer.add("subagents", one.data),
          await parent.producer.addAgain("subagents", one.data),
        ];
        expect([ids, await parent.backend.queue("subagents").getJobCountByTypes("waiting")]).toEqual([
          [jobId(one.data), jobId(one.data)],
          1,
        ]);
        const worker = node();
        const seen: boolean[] = [];
        let isBroken = true;
        worker.workers({
          subagents: async (job) => {
            if (isBroken) throw new Blocked("no");
            await research(scene, seen, async () => found("later"))(job);
          },
        });
        await until(async () => (await jobState(parent, jobId(one.data))) === "failed");
        isBroken = false;
        expect(await parent.producer.add("subagents", one.data)).toBe(jobId(one.data));
        const again = await parent.producer.addAgain("subagents", one.data);
        expect(again).toBe(`${jobId(one.data)}_2`);
        expect(await parentWaits(scene, parent, one, again)).toMatchObject({ state: "finished", result: "later" });
        expect(await store.subagents.claim(one.key)).toEqual({ kind: "refused", code: "ended" });
      });

      test("G-01 a failure that may pass is tried once more, any other ends the job; whoever waits hears its code", async () => {
        const { node } = await open();
        const [passing, lasting, odd] = [await asked(scene), await asked(scene), await asked(scene)];
        const [worker, parent] = [node(), node()];
        const attempts: string[] = [];
        const failed: string[] = [];
        worker.workers(
          {
            subagents: async ({ data, attempt }) => {
              attempts.push(
                `${[passing, lasting, odd].findIndex((one) => one.key.callId === data.call_id)}.${attempt}`,
              );
              if (data.call_id === passing.key.callId) throw new Overloaded("busy");
              if (data.call_id === lasting.key.callId) throw new Blocked("no");
              throw new TypeError("a bug");
            },
          },
          { onFailure: (code) => failed.push(code) },
        );
        const codes = await Promise.all(
          [passing, lasting, odd].map(async (one) => {
            const id = jobId(one.data);
            const waits = parentWaits(scene, parent, one, id).catch((error: unknown) => error);
            await parent.producer.add("subagents", one.data);
            const error = await waits;
            return error instanceof Failure ? error.code : error;
          }),
        );
        expect(codes).toEqual(["overloaded", "blocked", "internal"]);
        expect(attempts.sort()).toEqual(["0.1", "0.2", "1.1", "2.1"]);
        expect(failed.sort()).toEqual(["blocked", "internal", "overloaded", "overloaded"]);
      });
    });

    describe("closing", () => {
      test("G-02 a job that ends in the grace is stored, one that does not goes back and is done elsewhere; nothing new is begun", async () => {
        const { node } = await open();
        const [short, long, later] = [await asked(scene), await asked(scene), await asked(scene)];
        const [old, parent] = [node(), node()];
        const seen: boolean[] = [];
        const begun: string[] = [];
        const [shortEnds, both] = [gate(), gate()];
        const workers = old.workers({
          subagents: async (job) => {
            begun.push(job.data.call_id);
            if (begun.length === 2) both.open();
            const isShort = job.data.call_id === short.key.callId;
            await research(scene, seen, async (attempt) => {
              // The long one hears no signal.
              await (isShort ? shortEnds.opened : new Promise(() => {}));
              return found(attempt);
            })(job);
          },
        });
        const ids = [
          await parent.producer.add("subagents", short.data),
          await parent.producer.add("subagents", long.data),
        ];
        await both.opened;
        const closing = workers.close(700);
        const laterId = await parent.producer.add("subagents", later.data);
        shortEnds.open();
        const began = performance.now();
        expect(await closing).toEqual({ returned: 1 });
        expect(performance.now() - began).toBeLessThan(2_700);
        expect(await parentWaits(scene, parent, short, ids[0] ?? "")).toMatchObject({ state: "finished", result: 1 });
        const states = await Promise.all([...ids, laterId].map((id) => jobState(parent, id)));
        expect([states, begun.length, workers.running()]).toEqual([["completed", "waiting", "waiting"], 2, 0]);

        node().workers({ subagents: research(scene, seen, async (attempt) => found(attempt)) });
        const results = [
          await parentWaits(scene, parent, long, ids[1] ?? ""),
          await parentWaits(scene, parent, later, laterId),
        ].map((row) => [row.state, row.attempt]);
        // Whoever waits may hear of a result before the worker that stored it.
        await until(() => seen.length === 3);
        expect([results, seen]).toEqual([
          [
            ["finished", 2],
            ["finished", 1],
          ],
          [true, true, true],
        ]);
      });

      test("D-15 G-02 whoever waits for a job that nobody takes up again is told at its deadline, and cancels it for good", async () => {
        const { node, store } = await open();
        const one = await asked(scene);
        const [old, parent] = [node(), node()];
        const began = gate();
        const workers = old.workers({
          subagents: async ({ data }) => {
            await store.subagents.claim(keyOf(data));
            began.open();
            await new Promise(() => {});
          },
        });
        const id = await parent.producer.add("subagents", one.data);
        await began.opened;
        await workers.close(0);
        const waits = parentWaits(scene, parent, { ...one, deadline: Date.now() + 300 }, id);
        await expect(waits).rejects.toMatchObject({ code: "job_late" });
        expect(await store.subagents.cancel(one.key, "late")).toBe(true);
        const ends = [
          await store.subagents.finish(one.key, 1, found("too late")),
          await store.subagents.claim(one.key),
        ];
        expect(ends).toEqual([false, { kind: "refused", code: "ended" }]);
      });
    });

    describe("waiting", () => {
      test("G-03 a job that ends at once, and one whose result was there before anybody waited", async () => {
        const { node } = await open();
        const [worker, parent] = [node(), node()];
        worker.workers({ subagents: research(scene, [], async () => found("quick")) });
        const one = await asked(scene);
        const id = await parent.producer.add("subagents", one.data);
        expect(await parentWaits(scene, parent, one, id)).toMatchObject({ result: "quick" });
        const past = { ...one, deadline: Date.now() - 60_000 };
        expect(await parentWaits(scene, parent, past, "no-such-job")).toMatchObject({ result: "quick" });
      });

      test("G-03 a job that is removed while somebody waits for it ends the wait with a code, at the deadline at the latest", async () => {
        const { far, node } = await open();
        const one = await asked(scene, undefined, 2_000);
        const parent = node();
        const id = await parent.producer.add("subagents", one.data);
        const waits = parentWaits(scene, parent, one, id);
        waits.catch(() => {});
        await parent.waits;
        await new Promise((resolve) => setTimeout(resolve, 100));
        await parent.producer.remove("subagents", id);
        // PostgreSQL tells nobody of a removal.
        const code = far.connection.kind === "redis" ? "job_removed" : "job_late";
        await expect(waits).rejects.toMatchObject({ code });
      });

      test("G-03 a job that failed before anybody waited ends the wait with its code, long before the deadline", async () => {
        const { node } = await open();
        const one = await asked(scene);
        const [worker, parent] = [node(), node()];
        worker.workers({
          subagents: async () => {
            throw new Blocked("no");
          },
        });
        const id = await parent.producer.add("subagents", one.data);
        await until(async () => (await jobState(parent, id)) === "failed");
        // A reader that begins now hears nothing of it any more.
        const late = node();
        await expect(parentWaits(scene, late, one, id)).rejects.toMatchObject({ code: "blocked" });
        expect(Date.now()).toBeLessThan(one.deadline - 20_000);
      });

      test("G-03 events are lost: the result is found in the database within about a second", async () => {
        const { node, store } = await open();
        const one = await asked(scene);
        const parent = node();
        const waits = parentWaits(scene, parent, one, "an-id-that-no-event-names");
        await store.subagents.claim(one.key);
        await store.subagents.finish(one.key, 1, found("unheard"));
        const began = performance.now();
        expect(await waits).toMatchObject({ result: "unheard" });
        expect(performance.now() - began).toBeLessThan(2_000);
      });

      test("G-03 200 wait at a time over one reader; all end, and nobody listens that did not before", async () => {
        const { node, store } = await open();
        const one = await asked(scene);
        const parent = node();
        const waiting = parent.waits;
        const stop = new AbortController();
        const calm = new AbortController();
        setMaxListeners(0, stop.signal, calm.signal);
        const heard = ({ signal }: AbortController) => getEventListeners(signal, "abort").length;
        const counts = () => [waiting.count(), parent.listeners(), heard(stop), heard(calm)];
        const before = counts();
        const ends = Promise.allSettled(
          Array.from({ length: 200 }, (_, n) => {
            const more = { signal: n % 4 === 3 ? stop.signal : calm.signal };
            const deadline = n % 4 === 2 ? Date.now() + 500 : one.deadline;
            return parentWaits(scene, parent, { ...one, deadline }, jobId(one.data), more);
          }),
        );
        expect(counts()).toEqual([200, before[1], 50, 150]);
        await new Promise((resolve) => setTimeout(resolve, 700));
        stop.abort(new Blocked("stopped"));
        await store.subagents.claim(one.key);
        await store.subagents.finish(one.key, 1, found("for all"));
        const kinds = (await ends).map((end) => (end.status === "fulfilled" ? end.value.state : end.reason.code));
        const count = (kind: string) => kinds.filter((one_) => one_ === kind).length;
        expect([count("finished"), count("job_late"), count("blocked")]).toEqual([100, 50, 50]);
        // The last of them let go a moment after they are told.
        await until(() => heard(calm) === 0);
        expect(counts()).toEqual(before);
      });

      test("G-03 progress is heard as codes and numbers; what is none is not", async () => {
        const { node } = await open();
        const one = await asked(scene);
        const [worker, parent] = [node(), node()];
        const heard: unknown[] = [];
        const go = gate();
        worker.workers({
          subagents: async (job) => {
            await go.opened;
            job.progress({ phase: "PHI-MARK-91 is no code" });
            await until(() => true);
            job.progress({ phase: "searching", n: 1, of: 3 });
            await until(() => heard.length > 0);
            await research(scene, [], async () => found("done"))(job);
          },
        });
        const id = await parent.producer.add("subagents", one.data);
        const waits = parentWaits(scene, parent, one, id, { onProgress: (progress) => heard.push(progress) });
        await parent.waits;
        await new Promise((resolve) => setTimeout(resolve, 200));
        go.open();
        await waits;
        expect(heard).toEqual([{ phase: "searching", n: 1, of: 3 }]);
      });
    });

    describe("what stays", () => {
      test("G-05 ended jobs, events and logs stay bounded, half of them failed, 20 KB each", async () => {
        const { far, node } = await open();
        const count = Number(process.env["JOBS_TEST_COUNT"] ?? 1_000);
        const { backend } = node();
        await backend.ready(5_000);
        const queue = backend.queue("subagents");
        let ended = 0;
        // Jobs of ours hold ids alone; these are padded, with the options of ours.
        const worker = backend.worker(
          "subagents",
          async (job) => {
            ended += 1;
            if ((job.data as { n: number }).n % 2 === 0) throw new Error("overloaded");
          },
          { concurrency: 20, times: QUICK },
        );
        const options = { ...jobOptions("subagents"), attempts: 1 };
        const pad = "x".repeat(20_000);
        for (let n = 0; n < count; n += 100) {
          const some = Array.from({ length: 100 }, (_, at) => ({
            name: "subagents",
            data: { n: n + at, pad },
            opts: options,
          }));
          await queue.addBulk(some);
        }
        await until(() => ended >= count, 120_000);
        await until(async () => (await queue.getJobCountByTypes("active", "waiting")) === 0);
        await worker.close();
        const kept = await queue.getJobCounts("completed", "failed");
        // In a database what ends at the same time does not see each other.
        const more = far.connection.kind === "postgres" ? 20 : 0;
        expect(kept["completed"]).toBeLessThanOrEqual(KEPT.completed + more);
        expect(kept["failed"]).toBeLessThanOrEqual(KEPT.failed + more);
        const events = await far.events();
        // Trimmed in pieces.
        expect(events).toBeLessThanOrEqual(1_600);
        // A job is one key or row; besides there are a few of the queue's own.
        const rows = far.connection.kind === "postgres" ? events : 1;
        expect(await far.count()).toBeLessThanOrEqual(KEPT.completed + KEPT.failed + 2 * more + 30 + rows);
        const bytes = (await far.everything()).length;
        expect(bytes).toBeLessThan((KEPT.completed + KEPT.failed) * 25_000);
      }, 180_000);

      test("G-06 no word and no cookie lies in the queue, in any state of a job, whatever fails", async () => {
        const { far, node } = await open();
        const [word, cookie] = ["PHI-MARK-91", "COOKIE-MARK-77"];
        const request = { question: `What of ${word}?`, cookie };
        const [worker, parent] = [node(), node(60_000)];
        const cases = ["done", "broken", "passing", "active", "waiting"] as const;
        const all = await Promise.all(cases.map(() => asked(scene, request)));
        const caseOf = (call: string) => cases[all.findIndex((one) => one.key.callId === call)];
        const scans: string[] = [];
        const scan = async () => scans.push(await far.everything());
        const workers = worker.workers({
          subagents: async (job) => {
            job.progress({ phase: "searching", n: 1 });
            const which = caseOf(job.data.call_id);
            const raw = Object.assign(new Error(`${word} and ${cookie}`, { cause: word }), { detail: cookie });
            if (which === "broken") throw raw;
            if (which === "passing") throw Object.assign(new Overloaded(`${word} ${cookie}`), { stack: word });
            if (which === "active") await new Promise(() => {});
            await research(scene, [], async () => found({ text: word, cookie }))(job);
          },
        });
        for (const [at, one] of all.entries()) {
          if (cases[at] !== "waiting") await parent.producer.add("subagents", one.data);
        }
        const stateOf = (which: (typeof cases)[number]) =>
          jobState(parent, jobId(dataOf((all[cases.indexOf(which)] as (typeof all)[number]).key)));
        await until(async () => (await stateOf("done")) === "completed" && (await stateOf("broken")) === "failed");
        await until(async () => (await stateOf("passing")) !== "active" && (await stateOf("active")) === "active");
        await scan();
        await workers.close(0);
        await parent.producer.add("subagents", (all[4] as (typeof all)[number]).data);
        await scan();
        const states = await Promise.all(cases.map(stateOf));
        expect(states).toEqual(["completed", "failed", "delayed", "waiting", "waiting"]);
        const text = scans.join("\n");
        // The scan sees what is there.
        for (const one of all) expect(text).toContain(one.key.sessionId);
        expect(text).toContain("internal");
        expect([text.includes(word), text.includes(cookie)]).toEqual([false, false]);
      });
    });

    describe("connections", () => {
      test("G-07 whatever connection breaks, ten times over: jobs are done, and nothing floods the log", async () => {
        const { far, node } = await open();
        const [worker, parent] = [node(), node()];
        worker.workers({ subagents: research(scene, [], async () => found("done")) });
        await parent.waits;
        for (let n = 0; n < 10; n++) {
          await until(async () => (await far.breakConnections()) > 0);
          const one = await asked(scene);
          const id = await untilAdded(parent, one.data);
          expect(await parentWaits(scene, parent, one, id)).toMatchObject({ result: "done" });
        }
        const told = [...worker.problems, ...parent.problems].filter(({ level }) => level !== "info");
        expect(told.length).toBeLessThanOrEqual(8);
        // The answer to a job's end may be lost: then it has ended, and its lock is gone when it is told again.
        const known = ["jobs_unreachable", "job_lock_lost"];
        expect(told.filter(({ code }) => !known.includes(code))).toEqual([]);
      }, 120_000);
    });
  });
}

async function untilAdded({ producer }: Node, data: Parameters<Node["producer"]["add"]>[1]): Promise<string> {
  for (let tries = 0; ; tries++) {
    try {
      return await producer.add("subagents", data as never);
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== "jobs_unavailable" || tries === 20) throw error;
    }
  }
}
