import { afterEach, describe, expect, test } from "vitest";
import { failureCode } from "../../machines/failure.ts";
import type { StoreScene } from "../../persistence/testing/store-scene.ts";
import { admitted, batch, said } from "../../persistence/testing/store-scene.ts";
import { ModelUnavailable } from "../models/failures.ts";
import { type FarEnd, gate, type JobsScene, jobsScene, until } from "./testing/jobs-scene.ts";
import { draftsOf, summariserOf, summedUp, worksOnSummaries } from "./testing/summary-scene.ts";

/** Summaries that workers make. Both backends run this same suite. */
export function summariesContract(farEnd: (stored: StoreScene) => FarEnd): void {
  describe("summaries", () => {
    let scene: JobsScene;
    const open = async () => {
      scene = await jobsScene(farEnd);
      return scene;
    };
    afterEach(() => scene.close());

    test("a draft is made of what is stored: the one that its owner would make; other processes learn of it", async () => {
      const { node, store } = await open();
      const { digest, ...work } = await summedUp(scene);
      const [worker, owner, other] = [node(), node(), node()];
      const waiting: number[] = [];
      const { summariser, state } = summariserOf(async () => {
        await until(() => owner.waits.count() > 0);
        await new Promise((resolve) => setTimeout(resolve, 100));
        waiting.push(owner.waits.count());
        return "So far.";
      });
      worksOnSummaries(scene, worker, summariser);
      const { drafts, failures } = draftsOf(scene, owner);
      const [one, two] = await Promise.all([drafts.make(work), drafts.make(work)]);
      // The second joins the first.
      expect(waiting).toEqual([1]);
      expect([one, state.asked, failures]).toEqual([
        { from: 0, to: 2, text: "So far.", digest, passes: 1, profile: "cheap", clipped: [] },
        1,
        [],
      ]);
      expect([two, await store.summaries.find(work.sessionId, 0)]).toEqual([one, one]);
      const elsewhere = draftsOf(scene, other).drafts;
      expect([drafts.isReady(work.sessionId, 0), elsewhere.isReady(work.sessionId, 0)]).toEqual([true, false]);
      await until(() => elsewhere.isReady(work.sessionId, 0));
      expect(await elsewhere.make(work)).toEqual(one);
      drafts.forget(work.sessionId, 0);
      expect([drafts.isReady(work.sessionId, 2), state.asked]).toEqual([false, 1]);
      await Promise.all([drafts.close(), elsewhere.close()]);
    });

    test("ahead of time: nobody waits, and it is ready by the time that it is needed", async () => {
      const { node } = await open();
      const work = await summedUp(scene);
      const [worker, owner] = [node(), node()];
      const { drafts } = draftsOf(scene, owner);
      drafts.prepare(work);
      expect(drafts.isReady(work.sessionId, 0)).toBe(false);
      worksOnSummaries(scene, worker, summariserOf(async () => "So far.").summariser);
      await until(() => drafts.isReady(work.sessionId, 0));
      await drafts.close();
    });

    test("G-01 a summary that is made twice is kept once, and asked for no more", async () => {
      const { node, store, far } = await open();
      const work = await summedUp(scene);
      const [first, second, owner] = [node(), node(), node()];
      const slow = gate();
      const began = gate();
      worksOnSummaries(
        scene,
        first,
        summariserOf(async () => {
          began.open();
          await slow.opened;
          return "From the first.";
        }).summariser,
        { concurrency: 1 },
      );
      const { drafts } = draftsOf(scene, owner);
      const made = drafts.make(work);
      await began.opened;
      const quick = summariserOf(async () => "From the second.");
      worksOnSummaries(scene, second, quick.summariser);
      await far.expireLock(`${work.sessionId}_0_2`);
      await until(() => quick.state.asked > 0);
      slow.open();
      const draft = await made;
      expect(await store.summaries.find(work.sessionId, 0)).toEqual(draft);
      await until(async () => (await owner.backend.queue("summaries").getJobCountByTypes("active", "waiting")) === 0);
      expect([
        await store.summaries.find(work.sessionId, 0),
        await store.summaries.isWanted(work.sessionId, 0),
      ]).toEqual([draft, false]);
      await drafts.close();
    });

    test("G-01 a summary whose anchor has moved meanwhile is not kept, and whoever waits is told", async () => {
      const { node, store } = await open();
      const work = await summedUp(scene);
      const [worker, owner] = [node(), node()];
      const { summariser, state } = summariserOf(async () => {
        const { fence, turnId } = await admitted(store, work.sessionId);
        const anchor = { from: 0, to: 1 };
        await store.histories.append(fence, batch(turnId, [said(turnId, 4)], { opens: { n: 5, title: "T" }, anchor }));
        return "Too late.";
      });
      worksOnSummaries(scene, worker, summariser);
      const { drafts } = draftsOf(scene, owner);
      expect(await drafts.make(work).catch(failureCode)).toBe("job_empty");
      expect(await store.summaries.find(work.sessionId, 0)).toBeUndefined();
      // Nobody can use it: the model is not asked at all.
      // It ends at once, maybe before anybody listens; then it is gone. Nobody waits until the limit.
      expect(["job_empty", "job_removed"]).toContain(await drafts.make(work).catch(failureCode));
      expect(state.asked).toBe(1);
      await drafts.close();
    });

    test("what fails in a worker is told there, ends the wait with its code, and is not tried again ahead of time", async () => {
      const { node } = await open();
      const work = await summedUp(scene);
      const [worker, owner] = [node(), node()];
      const { summariser, state } = summariserOf(async () => {
        if (state.asked > 2) throw new TypeError("PHI-MARK-91");
        throw new ModelUnavailable("overloaded");
      });
      const inWorker = worksOnSummaries(scene, worker, summariser);
      const { drafts, failures } = draftsOf(scene, owner);
      expect(await drafts.make(work).catch(failureCode)).toBe("overloaded");
      drafts.prepare(work);
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect([state.asked, inWorker.map(failureCode), failures]).toEqual([2, ["overloaded", "overloaded"], []]);
      // A turn that needs it may ask again.
      expect(await drafts.make(work).catch(failureCode)).toBe("internal");
      expect([state.asked, failures]).toEqual([3, []]);
      await drafts.close();
    });

    test("one that hangs is given up by worker and owner, each at its limit", async () => {
      const { node } = await open();
      const work = await summedUp(scene);
      const [worker, owner] = [node(), node()];
      const inWorker = worksOnSummaries(scene, worker, summariserOf(() => new Promise(() => {})).summariser, {
        limitMs: 900,
      });
      const { drafts, failures } = draftsOf(scene, owner, 300);
      expect(await drafts.make(work).catch(failureCode)).toBe("summary_late");
      expect(failures.map(failureCode)).toEqual(["summary_late"]);
      await until(() => inWorker.length > 0);
      expect(failureCode(inWorker[0])).toBe("summary_late");
      await drafts.close();
    });

    test("closing ends what is waited for, and begins nothing more", async () => {
      const { node } = await open();
      const work = await summedUp(scene);
      const { drafts } = draftsOf(scene, node());
      const made = drafts.make(work).catch(failureCode);
      await new Promise((resolve) => setImmediate(resolve));
      await drafts.close();
      expect([await made, await drafts.make(work).catch(failureCode)]).toEqual(["summary_late", "summary_late"]);
    });

    test("G-06 no word of a conversation that is summed up lies in the queue, whatever fails", async () => {
      const { node, far } = await open();
      const work = await summedUp(scene);
      const [worker, owner] = [node(), node()];
      const { summariser, state } = summariserOf(async ({ text }) => {
        scans.push(await far.everything());
        if (state.asked === 1) throw Object.assign(new Error(`PHI-MARK-91 ${text}`), { stack: text, cause: text });
        return "PHI-MARK-91 hello";
      });
      const scans: string[] = [];
      worksOnSummaries(scene, worker, summariser);
      const { drafts } = draftsOf(scene, owner);
      expect(await drafts.make(work).catch(failureCode)).toBe("internal");
      scans.push(await far.everything());
      expect((await drafts.make(work)).text).toBe("PHI-MARK-91 hello");
      scans.push(await far.everything());
      const text = scans.join("\n");
      expect([text.includes(work.sessionId), text.includes("internal")]).toEqual([true, true]);
      expect([text.includes("PHI-MARK-91"), text.includes("hello")]).toEqual([false, false]);
      await drafts.close();
    });
  });
}
