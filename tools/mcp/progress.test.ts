import { afterEach, expect, test, vi } from "vitest";
import type { ToolProgress } from "../tool.ts";
import { FakeMcpServer, type FakeTool, type Report } from "./testing/fake-server.ts";
import { caller, deferred, never, scene } from "./testing/scene.ts";

const running: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of running.splice(0).reverse()) await one.stop();
});

const ana = caller("ana", "sid=ana");
const done = { content: [{ type: "text", text: "done" }] };

/** A tool that reports when it is told to and answers when it is told to. */
function reporting(name: string, annotations: Record<string, unknown> = { readOnlyHint: true }) {
  const [called, answer, cancelled] = [deferred(), deferred(), deferred()];
  let tell: Report = async () => undefined;
  const tool: FakeTool = {
    name,
    annotations,
    async run(_, __, signal, report) {
      tell = report;
      signal.addEventListener("abort", cancelled.resolve);
      called.resolve();
      await answer.promise;
      return done;
    },
  };
  const report: Report = (progress) => tell(progress);
  return { tool, report, called: called.promise, cancelled: cancelled.promise, answer: answer.resolve };
}

async function start(...tools: readonly FakeTool[]) {
  const server = await FakeMcpServer.start(tools);
  const timeouts = { ticks: 60_000, slow: 120_000 };
  const world = scene({ fake: server }, { timeouts, silenceMs: 10_000 });
  running.push(server, { stop: () => world.mcp.close() });

  /** A call of `one`; `reports` sends a notice and waits until the caller has heard of it. */
  const calling = async (one: ReturnType<typeof reporting>) => {
    const heard: ToolProgress[] = [];
    let wake = () => {};
    const onProgress = (progress: ToolProgress) => {
      heard.push(progress);
      wake();
    };
    const result = world.call(ana, one.tool.name, {}, never, { onProgress });
    await one.called;
    const reports = async (progress: ToolProgress) => {
      const next = deferred();
      wake = next.resolve;
      await one.report(progress);
      await next.promise;
    };
    return { result, heard, reports };
  };
  return { server, calling, ...world };
}

test("[F-08] a tool that reports progress every 2 s for ever is ended at its limit in all, and told", async () => {
  const ticks = reporting("ticks");
  const { calling, clock } = await start(ticks.tool);
  const { result, heard, reports } = await calling(ticks);
  for (let n = 1; n <= 29; n += 1) {
    clock.advance(2_000);
    await reports({ progress: n, total: 100 });
  }
  clock.advance(2_000);
  expect(await result).toEqual({ kind: "error", reason: "timeout", text: "ticks gave no answer within 60 s." });
  await ticks.cancelled;
  expect(heard).toEqual(Array.from({ length: 29 }, (_, at) => ({ progress: at + 1, total: 100 })));
});

test("[F-08] a tool that has reported progress and falls silent is ended after the limit of silence", async () => {
  const ticks = reporting("ticks", { readOnlyHint: false });
  const { calling, clock } = await start(ticks.tool);
  const { result, reports } = await calling(ticks);
  await reports({ progress: 1 });
  clock.advance(9_000);
  await reports({ progress: 2 });
  clock.advance(9_999);
  clock.advance(1);
  expect(await result).toEqual({
    kind: "error",
    reason: "timeout",
    text: "ticks gave no sign of progress for 10 s. It may have happened all the same: check before you try again.",
    mayHaveHappened: true,
  });
});

test("[F-08] a tool without a limit of its own has 30 s for its first word, and 120 s when it reports progress", async () => {
  const works = reporting("works");
  const { calling, clock } = await start(works.tool);
  const { result, reports } = await calling(works);
  for (let n = 1; n <= 12; n += 1) {
    clock.advance(9_000);
    await reports({ progress: n });
  }
  clock.advance(9_000);
  works.answer();
  expect(await result).toEqual({ kind: "ok", text: "done", data: undefined });
});

test("[F-07] [F-08] a tool with a limit of its own that reports nothing may take it all", async () => {
  const slow = reporting("slow");
  const { calling, clock } = await start(slow.tool);
  const { result } = await calling(slow);
  clock.advance(70_000);
  slow.answer();
  expect(await result).toEqual({ kind: "ok", text: "done", data: undefined });
});

test("[F-08] 1000 notices cost no alarms, and what they say is short and names no address", async () => {
  const ticks = reporting("ticks");
  const { calling, clock } = await start(ticks.tool);
  const { result, heard, reports } = await calling(ticks);
  await reports({ progress: 1 });
  const armed = clock.armed;
  for (let n = 2; n < 1_000; n += 1) await ticks.report({ progress: n });
  await ticks.report({ progress: 1_000, message: `reading http://10.0.0.1/x ${"long ".repeat(200)}` });
  await vi.waitFor(() => expect(heard.length).toBe(1_000));
  expect(clock.armed).toBeLessThanOrEqual(armed);
  expect(heard[999]?.message).toMatch(/^reading \[address\] long /);
  expect(heard[999]?.message?.length).toBeLessThanOrEqual(201);
  ticks.answer();
  expect(await result).toEqual({ kind: "ok", text: "done", data: undefined });
});

test("[F-08] a second try of a read has only what the first left of the time", async () => {
  const ticks = reporting("ticks");
  const { calling, clock, server } = await start(ticks.tool);
  const again = deferred();
  let tries = 0;
  let cut = () => {};
  server.fault = ({ tool }, response) => {
    if (tool !== "ticks") return false;
    tries += 1;
    cut = () => void response.destroy();
    if (tries === 2) again.resolve();
    return false;
  };
  const { result, reports } = await calling(ticks);
  for (let n = 1; n <= 5; n += 1) {
    clock.advance(9_000);
    await reports({ progress: n });
  }
  cut();
  await again.promise;
  clock.advance(15_000);
  expect(await result).toEqual({ kind: "error", reason: "timeout", text: "ticks gave no answer within 60 s." });
});
