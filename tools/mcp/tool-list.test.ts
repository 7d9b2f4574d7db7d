import { afterEach, expect, test, vi } from "vitest";
import { FakeMcpServer, type FakeTool } from "./testing/fake-server.ts";
import { caller, contextOf, never, scene } from "./testing/scene.ts";

const running: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of running.splice(0).reverse()) await one.stop();
});

const ana = caller("ana", "sid=ana", ["labs"]);
const named = (name: string, over: Partial<FakeTool> = {}): FakeTool => ({
  name,
  annotations: { readOnlyHint: true },
  ...over,
});

async function start(...names: readonly string[]) {
  const server = await FakeMcpServer.start(names.map((name) => named(name)));
  const world = scene({ fake: server });
  running.push(server, { stop: () => world.mcp.close() });
  const tools = async (who = ana) => (await world.mcp.discover(who)).tools.map(({ name }) => name);
  const lists = () => server.calls.filter((one) => one === "tools/list").length;
  return { server, tools, lists, ...world };
}

test("[F-04] the list is asked for once in 60 s, and again when the flags differ", async () => {
  const { server, tools, lists, clock } = await start("a", "b");
  expect(await tools()).toEqual(["a", "b"]);
  server.tools = () => [named("a"), named("c")];
  clock.advance(59_000);
  expect(await tools()).toEqual(["a", "b"]);
  clock.advance(1_000);
  expect(await tools()).toEqual(["a", "c"]);
  expect(lists()).toBe(2);
  expect(await tools(caller("ana", "sid=ana", ["labs", "research"]))).toEqual(["a", "c"]);
  expect(lists()).toBe(3);
});

test("[F-04] a change that the server announces is seen at once", async () => {
  const { server, tools } = await start("a", "b");
  await tools();
  await vi.waitFor(() => expect(server.seen.some(({ method }) => method === "GET")).toBe(true));
  const changed = { type: "object", properties: { x: { type: "string" } } };
  server.tools = () => [named("a", { inputSchema: changed }), named("c")];
  await server.announceTools();
  await vi.waitFor(async () => expect(await tools()).toEqual(["a", "c"]));
});

test("[F-04] all pages are read; a repeated cursor ends with an error, not never", async () => {
  const { server, tools, mcp, lists, clock } = await start();
  server.pages = (cursor) =>
    cursor === undefined ? { tools: [named("a")], nextCursor: "2" } : { tools: [named("b")] };
  expect(await tools()).toEqual(["a", "b"]);
  server.pages = () => ({ tools: [named("a")], nextCursor: "2" });
  clock.advance(60_000);
  expect((await mcp.discover(ana)).missing).toEqual([{ server: "fake", reason: "unavailable", stale: true }]);
  expect(lists()).toBe(4);
});

test("[F-04] a server that is away: the last list stays, marked", async () => {
  const { server, mcp, clock } = await start("a");
  await mcp.discover(ana);
  clock.advance(60_000);
  server.fault = (_, response) => response.writeHead(503).end() !== undefined;
  const { tools, missing } = await mcp.discover(ana);
  expect([tools.map(({ name }) => name), missing]).toEqual([
    ["a"],
    [{ server: "fake", reason: "unavailable", stale: true }],
  ]);
});

test("one odd tool does not hide the others", async () => {
  const { server, tools, events } = await start();
  server.fault = ({ rpc, body }, response) => {
    if (rpc !== "tools/list") return false;
    const result = { tools: [{ name: "odd" }, { name: "fine", inputSchema: { type: "object" } }] };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id: body["id"], result }));
    return true;
  };
  expect(await tools()).toEqual(["fine"]);
  expect(events.filter(({ type }) => type === "odd_tool")).toHaveLength(1);
});

test("annotations and _meta say what recovery may do; a write carries its key, a read none", async () => {
  const { server, find } = await start();
  const honours = { "dormouse/idempotency-key": true };
  server.tools = () => [
    named("read", { title: "Read it", run: () => ({ content: [] }) }),
    named("write", { annotations: { readOnlyHint: false }, run: () => ({ content: [] }) }),
    named("keyed_write", {
      annotations: { readOnlyHint: false, idempotentHint: false },
      _meta: honours,
      run: () => ({ content: [] }),
    }),
  ];
  const tools = await Promise.all(["read", "write", "keyed_write"].map((name) => find(ana, name)));
  expect(tools.map(({ name, title, traits }) => [name, title, traits])).toEqual([
    ["read", "Read it", { readOnly: true, repeatable: true }],
    ["write", "Write", { readOnly: false, repeatable: false }],
    ["keyed_write", "Keyed write", { readOnly: false, repeatable: true }],
  ]);
  for (const tool of tools) await tool.run({ n: 1 }, contextOf(ana), never);
  const sent = server.seen.filter(({ rpc }) => rpc === "tools/call").map(({ body }) => body["params"]);
  const progressToken = expect.any(Number);
  expect(sent).toEqual([
    { name: "read", arguments: { n: 1 }, _meta: { progressToken } },
    { name: "write", arguments: { n: 1 }, _meta: { "dormouse/idempotency-key": "s.t.call-1", progressToken } },
    { name: "keyed_write", arguments: { n: 1 }, _meta: { "dormouse/idempotency-key": "s.t.call-1", progressToken } },
  ]);
});

test("[F-05] the same name on two servers: two names, each goes to its server, whatever the order", async () => {
  const search = (at: string) => named("search", { run: () => ({ content: [{ type: "text", text: at }] }) });
  const [catalog, kb] = [await FakeMcpServer.start([search("catalog")]), await FakeMcpServer.start([search("kb")])];
  running.push(catalog, kb);
  const servers = [
    { name: "catalog", url: catalog.url, bareNames: true },
    { name: "kb", url: kb.url },
  ];
  for (const order of [servers, servers.toReversed()]) {
    const world = scene({ catalog, kb }, { servers: order });
    running.push({ stop: () => world.mcp.close() });
    expect((await world.mcp.discover(ana)).tools.map(({ name }) => name)).toEqual(["search", "kb__search"]);
    expect((await world.call(ana, "search")).text).toBe("catalog");
    expect((await world.call(ana, "kb__search")).text).toBe("kb");
  }
  expect(kb.calls.filter((one) => one.startsWith("tools/call"))).toEqual(["tools/call search", "tools/call search"]);
});

test("[F-05] servers that contradict each other are refused when they are set up", () => {
  const url = "http://127.0.0.1:1/mcp";
  const both = [
    { name: "a", url, bareNames: true },
    { name: "b", url: "nowhere", bareNames: true },
  ];
  expect(() => scene({}, { servers: both })).toThrow(
    'MCP servers: "b" has no usable address; only one server can have bare names',
  );
});
