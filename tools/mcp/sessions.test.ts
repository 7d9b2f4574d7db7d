import { afterEach, expect, test } from "vitest";
import { FakeMcpServer, type FakeTool, type Seen } from "./testing/fake-server.ts";
import { caller, scene } from "./testing/scene.ts";

const running: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of running.splice(0).reverse()) await one.stop();
});

const echo: FakeTool = {
  name: "echo",
  annotations: { readOnlyHint: true },
  run: (args, { cookie, session }) => ({ content: [], structuredContent: { ...args, cookie, session } }),
};

async function start(tools: readonly FakeTool[] | ((seen: Seen) => readonly FakeTool[])) {
  const server = await FakeMcpServer.start(tools);
  const world = scene({ fake: server });
  running.push(server, { stop: () => world.mcp.close() });
  return { server, ...world };
}

const ana = caller("ana", "sid=ana");
const HANDSHAKE = ["initialize", "notifications/initialized"];

test("[F-01] a forgotten session is opened again, once, and the model sees only the result", async () => {
  const { server, call, events } = await start([echo]);
  await call(ana, "echo");
  const before = server.seen.find(({ rpc }) => rpc === "tools/call")?.session ?? "";
  await server.forget();

  const result = await call(ana, "echo", { n: 2 });
  const after = server.seen.findLast(({ rpc }) => rpc === "tools/call")?.session ?? "";
  const data = { n: 2, cookie: "sid=ana", session: after };
  expect(result).toEqual({ kind: "ok", text: JSON.stringify(data), data });
  expect(after).not.toBe(before);
  expect(server.calls).toEqual([
    ...[...HANDSHAKE, "tools/list", "tools/call echo"],
    ...["tools/call echo", ...HANDSHAKE, "tools/call echo"],
  ]);
  expect(server.seen.filter(({ rpc }) => rpc === "initialize").map(({ session, cookie }) => [session, cookie])).toEqual(
    [
      ["", "sid=ana"],
      ["", "sid=ana"],
    ],
  );
  expect(events.map(({ type }) => type)).toEqual(["mcp_connected", "mcp_reinitialised"]);
});

test("[F-01] a second 404 in a row is one error result, and no loop", async () => {
  const { server, call, find } = await start([echo]);
  await find(ana, "echo");
  server.fault = ({ rpc }, response) => rpc === "tools/call" && response.writeHead(404).end() !== undefined;

  expect(await call(ana, "echo")).toEqual({
    kind: "error",
    reason: "unavailable",
    text: "echo is temporarily unavailable.",
  });
  expect(server.calls.filter((one) => one.startsWith("tools/call"))).toHaveLength(2);
  server.fault = () => false;
  expect((await call(ana, "echo")).kind).toBe("ok");
});

test("[F-01] calls that learn together that the session is lost share one new session", async () => {
  const { server, call } = await start([echo]);
  await call(ana, "echo");
  await server.forget();
  const results = await Promise.all(Array.from({ length: 8 }, (_, n) => call(ana, "echo", { n })));
  expect(results.map(({ kind }) => kind)).toEqual(Array(8).fill("ok"));
  expect(server.calls.filter((one) => one === "initialize")).toHaveLength(2);
});

test("[F-06] 200 interleaved calls of two users and of equal cookies: nobody's login or MCP session serves another", async () => {
  const slow: FakeTool = {
    ...echo,
    async run(args, seen, ...rest) {
      for (let hops = Number(args["n"]) % 7; hops >= 0; hops--) await new Promise((resolve) => setImmediate(resolve));
      return echo.run?.(args, seen, ...rest);
    },
  };
  const { server, call, mcp } = await start([slow]);
  const callers = [
    caller("ana", "sid=ana"),
    caller("ben", "sid=ben"),
    caller("ana", "sid=ana-2"),
    caller("cleo", "sid=shared"),
    caller("dan", "sid=shared"),
  ] as const;
  const sessionsOf = new Map<string, Set<string>>(callers.map((_, at) => [String(at), new Set()]));

  await Promise.all(
    Array.from({ length: 200 }, async (_, n) => {
      const at = n % callers.length;
      const who = callers[at] ?? ana;
      // Now and then the server forgets the session this caller just used.
      const result = await call(who, "echo", { n });
      const data = result.kind === "ok" ? (result.data as { n: number; cookie: string; session: string }) : undefined;
      expect([data?.n, data?.cookie]).toEqual([n, who.credential.cookie]);
      sessionsOf.get(String(at))?.add(data?.session ?? "");
      if (n % 40 === 7) server.forgetOne(data?.session ?? "");
    }),
  );
  const all = [...sessionsOf.values()].flatMap((sessions) => [...sessions]);
  expect(new Set(all).size).toBe(all.length);
  expect(all).not.toContain("");
  expect(mcp.connections).toBe(5);
  const cookiesOf = new Map<string, Set<string>>();
  for (const { session, cookie } of server.seen)
    if (session !== "") cookiesOf.set(session, (cookiesOf.get(session) ?? new Set()).add(cookie));
  expect([...cookiesOf.values()].map(({ size }) => size)).toEqual([...cookiesOf].map(() => 1));
});

test("[F-06] a tool list that one user got is not shown to another", async () => {
  const { mcp } = await start(({ cookie }) => [{ ...echo, name: cookie === "sid=ana" ? "for_ana" : "for_others" }]);
  const names = async (who: typeof ana) => (await mcp.discover(who)).tools.map(({ name }) => name);
  expect(await names(ana)).toEqual(["for_ana"]);
  expect(await names(caller("ben", "sid=ben"))).toEqual(["for_others"]);
  expect(await names(ana)).toEqual(["for_ana"]);
});

test("an unused connection is closed after its time, a used one stays", async () => {
  const { mcp, call, clock } = await start([echo]);
  await call(ana, "echo");
  clock.advance(8 * 60_000);
  await call(caller("ben", "sid=ben"), "echo");
  clock.advance(7 * 60_000);
  expect(mcp.connections).toBe(1);
  clock.advance(15 * 60_000);
  expect(mcp.connections).toBe(0);
  expect((await call(ana, "echo")).kind).toBe("ok");
});

test("the pool has a bound: the connection that was unused longest makes room", async () => {
  const server = await FakeMcpServer.start([echo]);
  const world = scene({ fake: server }, { most: 2 });
  running.push(server, { stop: () => world.mcp.close() });
  for (const user of ["ana", "ben", "ana", "cleo"]) await world.call(caller(user, `sid=${user}`), "echo");
  expect(world.mcp.connections).toBe(2);
  await world.call(ana, "echo");
  expect(server.calls.filter((one) => one === "initialize")).toHaveLength(3);
});
