import { afterEach, expect, test } from "vitest";
import { FakeMcpServer, type FakeTool } from "./testing/fake-server.ts";
import { caller, deferred, scene } from "./testing/scene.ts";

const running: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of running.splice(0).reverse()) await one.stop();
});

const ana = caller("ana", "sid=ana");

/** A tool that answers when it is told to, and tells when it was called and when it was cancelled. */
function held(name: string, annotations: Record<string, unknown> = { readOnlyHint: true }) {
  const called = deferred();
  const answer = deferred();
  const cancelled = deferred();
  const tool: FakeTool = {
    name,
    annotations,
    async run(_, __, signal) {
      signal.addEventListener("abort", () => cancelled.resolve());
      called.resolve();
      await answer.promise;
      return { content: [{ type: "text", text: `${name} done` }] };
    },
  };
  return { tool, called: called.promise, cancelled: cancelled.promise, answer: () => answer.resolve() };
}

const quick: FakeTool = {
  name: "quick",
  annotations: { readOnlyHint: true },
  run: () => ({ content: [{ type: "text", text: "quick done" }] }),
};

async function start(tools: readonly FakeTool[]) {
  const server = await FakeMcpServer.start(tools);
  const world = scene({ fake: server }, { timeouts: { slow: 120_000, late: 5_000 } });
  running.push(server, { stop: () => world.mcp.close() });
  return { server, ...world };
}

test("[F-07] a tool that hangs is given up at its limit, with a notice; the connection stays usable", async () => {
  const hanging = held("hangs");
  const { call, clock, server } = await start([hanging.tool, quick]);
  const closed = deferred();
  server.fault = ({ tool }, response) => {
    if (tool === "hangs") response.on("close", closed.resolve);
    return false;
  };
  const result = call(ana, "hangs");
  await hanging.called;
  clock.advance(30_000);
  expect(await result).toEqual({ kind: "error", reason: "timeout", text: "hangs gave no answer within 30 s." });
  await hanging.cancelled;
  await closed.promise;
  expect(await call(ana, "quick")).toEqual({ kind: "ok", text: "quick done", data: undefined });
  expect(server.calls.filter((one) => one === "initialize" || one.startsWith("notifications"))).toEqual([
    "initialize",
    "notifications/initialized",
    "notifications/cancelled",
  ]);
});

test("[F-07] a tool with a longer limit of its own may take 70 s", async () => {
  const slow = held("slow");
  const { call, clock } = await start([slow.tool]);
  const result = call(ana, "slow");
  await slow.called;
  clock.advance(70_000);
  slow.answer();
  expect(await result).toEqual({ kind: "ok", text: "slow done", data: undefined });
});

test("[F-07] an answer after the limit is dropped and does not become the next call's", async () => {
  const late = held("late");
  const { call, clock } = await start([late.tool, quick]);
  const result = call(ana, "late");
  await late.called;
  clock.advance(5_000);
  expect(await result).toEqual({ kind: "error", reason: "timeout", text: "late gave no answer within 5 s." });
  clock.advance(1_000);
  late.answer();
  expect(await call(ana, "quick")).toEqual({ kind: "ok", text: "quick done", data: undefined });
});

test("[F-07] a write that timed out may have happened", async () => {
  const write = held("write", { readOnlyHint: false });
  const { call, clock } = await start([write.tool]);
  const result = call(ana, "write");
  await write.called;
  clock.advance(30_000);
  expect(await result).toEqual({
    kind: "error",
    reason: "timeout",
    text: "write gave no answer within 30 s. It may have happened all the same: check before you try again.",
    mayHaveHappened: true,
  });
});

test("[F-07] Stop aborts at once with the signal's reason, and tells the server", async () => {
  const hanging = held("hangs");
  const { call, server } = await start([hanging.tool, quick]);
  const stop = new AbortController();
  const result = call(ana, "hangs", {}, stop.signal);
  await hanging.called;
  const reason = new Error("stopped by the user");
  stop.abort(reason);
  await expect(result).rejects.toBe(reason);
  await hanging.cancelled;
  const notice = server.seen.find(({ rpc }) => rpc === "notifications/cancelled");
  expect(JSON.stringify(notice?.body)).not.toContain("stopped by the user");
});

test("[F-07] Stop after the answers sends no cancellation for calls that are over", async () => {
  const { call, server } = await start([quick]);
  const stop = new AbortController();
  await call(ana, "quick", {}, stop.signal);
  stop.abort();
  await call(ana, "quick");
  expect(server.calls.filter((one) => one === "notifications/cancelled")).toEqual([]);
});

test("[F-07] a server that does not finish the handshake is unavailable after its time", async () => {
  const { mcp, clock, server } = await start([quick]);
  const asked = deferred();
  server.fault = () => {
    asked.resolve();
    return true;
  };
  const discovery = mcp.discover(ana);
  await asked.promise;
  clock.advance(10_000);
  expect(await discovery).toEqual({ tools: [], missing: [{ server: "fake", reason: "unavailable", stale: false }] });
});
