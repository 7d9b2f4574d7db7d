import { McpError } from "@modelcontextprotocol/sdk/types.js";
import { afterEach, expect, test } from "vitest";
import { FakeMcpServer, type FakeTool } from "./testing/fake-server.ts";
import { caller, contextOf, never, scene } from "./testing/scene.ts";

const running: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of running.splice(0).reverse()) await one.stop();
});

const ana = caller("ana", "sid=ana");
const reading = { readOnlyHint: true, idempotentHint: true };

async function start(tools: readonly FakeTool[], json = false) {
  const server = await FakeMcpServer.start(tools);
  server.json = json;
  const world = scene({ fake: server }, { bodyBytes: 8 * 1024 * 1024 });
  running.push(server, { stop: () => world.mcp.close() });
  return { server, ...world };
}

const giving = (name: string, result: unknown, over: Partial<FakeTool> = {}): FakeTool => ({
  name,
  annotations: reading,
  run: () => result,
  ...over,
});
const throwing = (name: string, error: Error): FakeTool => ({ ...giving(name, {}), run: () => Promise.reject(error) });
const isCall = (rpc: string) => rpc === "tools/call";

test("[F-02] (a) a tool's own error reaches the model with its text", async () => {
  const { call } = await start([giving("order", { isError: true, content: [{ type: "text", text: "qty > 10" }] })]);
  expect(await call(ana, "order")).toEqual({ kind: "error", reason: "tool", text: "qty > 10" });
});

test("[F-02] (b) (c) protocol errors become short, safe texts", async () => {
  const leaky = "bad qty at http://10.2.3.4:8080/x see db.internal\n    at run (/srv/app/tools.js:12:3)";
  const { call } = await start([
    throwing("params", new McpError(-32_602, leaky)),
    throwing("gone", new McpError(-32_601, "Unknown tool: gone")),
    throwing("broken", new Error(leaky)),
  ]);
  expect(await call(ana, "params")).toEqual({
    kind: "error",
    reason: "protocol",
    text: "params refused the arguments: bad qty at [address] see [host]",
  });
  expect(await call(ana, "gone")).toEqual({
    kind: "error",
    reason: "protocol",
    text: "gone failed: it is not there any more.",
  });
  expect(await call(ana, "broken")).toEqual({
    kind: "error",
    reason: "protocol",
    text: "broken failed on the other side.",
  });
});

test("[F-02] (d) HTTP 500: one retry for a tool that only reads, none for a write, which may have happened", async () => {
  const { call, server, find, events } = await start([giving("read", {}), giving("write", {}, { annotations: {} })]);
  await find(ana, "read");
  server.fault = ({ rpc }, response) => isCall(rpc) && response.writeHead(500).end("Error at /srv/x.js") !== undefined;
  expect(await call(ana, "read")).toEqual({
    kind: "error",
    reason: "unavailable",
    text: "read is temporarily unavailable.",
  });
  expect(await call(ana, "write")).toEqual({
    kind: "error",
    reason: "unavailable",
    text: "write is temporarily unavailable. It may have happened all the same: check before you try again.",
    mayHaveHappened: true,
  });
  expect(server.calls.filter((one) => one.startsWith("tools/call"))).toEqual([
    "tools/call read",
    "tools/call read",
    "tools/call write",
  ]);
  expect(events.filter(({ type }) => type === "call_failed")).toEqual([
    { type: "call_failed", server: "fake", tool: "read", code: "mcp_unavailable" },
    { type: "call_failed", server: "fake", tool: "write", code: "mcp_unavailable" },
  ]);
});

test("[F-02] (d) a single 500 is not seen by the model when the tool only reads", async () => {
  const { call, server, find } = await start([giving("read", { content: [{ type: "text", text: "fine" }] })]);
  await find(ana, "read");
  let failures = 1;
  server.fault = ({ rpc }, response) => isCall(rpc) && failures-- > 0 && response.writeHead(503).end() !== undefined;
  expect(await call(ana, "read")).toEqual({ kind: "ok", text: "fine", data: undefined });
});

test("[F-02] (e) connection refused: unavailable, and a write certainly did not happen", async () => {
  const { find, server } = await start([giving("read", {}), giving("write", {}, { annotations: {} })]);
  const [read, write] = [await find(ana, "read"), await find(ana, "write")];
  await server.stop();
  running.splice(0, 1);
  expect(await read.run({}, contextOf(ana), never)).toEqual({
    kind: "error",
    reason: "unavailable",
    text: "read is temporarily unavailable.",
  });
  expect(await write.run({}, contextOf(ana), never)).toEqual({
    kind: "error",
    reason: "unavailable",
    text: "write is temporarily unavailable.",
  });
});

test("[F-02] an answer that breaks off in the middle is unavailable at once, not a time-out", async () => {
  const { call, server, find } = await start([giving("read", {})]);
  await find(ana, "read");
  server.fault = ({ rpc }, response) => {
    if (!isCall(rpc)) return false;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write('event: message\ndata: {"jsonrpc":"2.0",', () => response.destroy());
    return true;
  };
  expect(await call(ana, "read")).toEqual({
    kind: "error",
    reason: "unavailable",
    text: "read is temporarily unavailable.",
  });
});

for (const json of [false, true]) {
  test(`[F-03] structured data reach the model once (${json ? "JSON" : "event stream"})`, async () => {
    const data = { items: [{ id: 1 }] };
    const text = JSON.stringify(data, null, 2);
    const { call } = await start(
      [
        giving("only_structured", { content: [], structuredContent: data, isError: false }),
        giving("both", { content: [{ type: "text", text }], structuredContent: data }),
        giving("only_text", { content: [{ type: "text", text }] }),
        giving("nothing", { content: [] }),
      ],
      json,
    );
    expect(await call(ana, "only_structured")).toEqual({ kind: "ok", text: '{"items":[{"id":1}]}', data });
    expect(await call(ana, "both")).toEqual({ kind: "ok", text: '{"items":[{"id":1}]}', data });
    expect(await call(ana, "only_text")).toEqual({ kind: "ok", text, data });
    expect(await call(ana, "nothing")).toEqual({
      kind: "ok",
      text: "The tool answered without any data.",
      data: undefined,
    });
  });
}

test("[F-03] images and links become markers", async () => {
  const content = [
    { type: "text", text: "See:" },
    { type: "image", mimeType: "image/png", data: "A".repeat(4096) },
    { type: "resource_link", uri: "file:///secret/leaflet.pdf", name: "leaflet" },
  ];
  const { call } = await start([giving("mixed", { content })]);
  expect(await call(ana, "mixed")).toEqual({
    kind: "ok",
    text: 'See:\n[image, image/png, 3 KB: not shown]\n[link to "leaflet": not followed]',
    data: undefined,
  });
});

test("[F-03] a result that does not fit its output schema is used, and reported", async () => {
  const outputSchema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
  const { call, events } = await start([
    giving("odd", { content: [], structuredContent: { n: "five" } }, { outputSchema }),
    giving("bare", { content: [{ type: "text", text: "five" }] }, { outputSchema }),
  ]);
  expect(await call(ana, "odd")).toEqual({ kind: "ok", text: '{"n":"five"}', data: { n: "five" } });
  expect(await call(ana, "bare")).toEqual({ kind: "ok", text: "five", data: undefined });
  expect(events.filter(({ type }) => type === "output_mismatch")).toEqual([
    { type: "output_mismatch", server: "fake", tool: "odd", problem: "/n must be integer" },
    { type: "output_mismatch", server: "fake", tool: "bare", problem: "(result) must be object" },
  ]);
});

test("[F-09] 5 MB in 40 parts or on one line: bounded, marked, valid Unicode", async () => {
  const line = "ab👩‍⚕️½".repeat(5_000_000 / 16);
  const parts = Array.from({ length: 40 }, () => ({ type: "text", text: line.slice(0, line.length / 40) }));
  const { call } = await start([
    giving("parts", { content: parts }),
    giving("line", { content: [{ type: "text", text: line }] }),
  ]);
  for (const name of ["parts", "line"]) {
    const result = await call(ana, name);
    expect(result.kind).toBe("ok");
    expect(result.text.length).toBeLessThanOrEqual(24_000);
    expect(result.text.length).toBeGreaterThan(23_900);
    expect(result.text.isWellFormed()).toBe(true);
    expect(result.text).toMatch(/\[… [\d,]+ of [\d,]+ characters are left out here\. To see them, narrow the request/);
  }
});

for (const type of ["text/event-stream", "application/json"]) {
  test(`[F-09] a body that never ends (${type}): the connection is closed at the limit`, async () => {
    const { call, server, find } = await start([giving("endless", {})]);
    await find(ana, "endless");
    let written = 0;
    const closed = new Promise<void>((resolve) => {
      server.fault = ({ rpc }, response) => {
        if (!isCall(rpc)) return false;
        response.writeHead(200, { "content-type": type });
        response.on("close", resolve);
        const chunk = Buffer.alloc(256 * 1024, 120);
        const pump = () => {
          if (response.destroyed) return;
          written += chunk.length;
          if (response.write(chunk)) setImmediate(pump);
        };
        response.on("drain", pump);
        response.write('data: {"jsonrpc":"2.0","id":');
        pump();
        return true;
      };
    });
    expect(await call(ana, "endless")).toEqual({
      kind: "error",
      reason: "tool",
      text: "The answer of endless was too large to read. Narrow the request: a more specific query or a smaller limit.",
    });
    await closed;
    expect(written).toBeLessThan(32 * 1024 * 1024);
    server.fault = () => false;
    expect((await call(ana, "endless")).kind).toBe("ok");
  });
}

const LOGIN = "<html><form action='/login'><input name=password></form></html>";
const deadLogins = {
  "(a) 401": { status: 401, headers: { "content-type": "text/html" } },
  "(b) 302 to /login": { status: 302, headers: { location: "/login" } },
  "(b) 307 to another host": { status: 307, headers: { location: "http://127.0.0.1:1/steal" } },
  "(c) 200 with a form": { status: 200, headers: { "content-type": "text/html; charset=utf-8" } },
};
for (const [name, { status, headers }] of Object.entries(deadLogins)) {
  test(`[F-10] ${name}: reason auth, no HTML, one request, nothing followed; a fresh cookie works`, async () => {
    const { call, server, find, mcp } = await start([giving("read", { content: [{ type: "text", text: "fine" }] })]);
    await find(ana, "read");
    server.fault = ({ cookie, rpc }, response) =>
      cookie === "sid=ana" && rpc !== "" && response.writeHead(status, headers).end(LOGIN) !== undefined;
    expect(await call(ana, "read")).toEqual({
      kind: "error",
      reason: "auth",
      text: "read was not run: the user's login has ended. The user has to log in again.",
    });
    expect(server.calls.filter((one) => one === "tools/call read")).toHaveLength(1);
    expect(server.seen.every(({ cookie }) => cookie === "sid=ana")).toBe(true);

    const anew = caller("ana", "sid=ana-fresh");
    expect(await call(anew, "read")).toEqual({ kind: "ok", text: "fine", data: undefined });
    server.fault = () => false;
    expect((await mcp.discover(ana)).missing).toEqual([]);
    expect(await call(ana, "read")).toEqual({ kind: "ok", text: "fine", data: undefined });
  });
}

test("[F-10] a dead login when tools are listed is told apart from a server that is away", async () => {
  const { server, mcp } = await start([giving("read", {})]);
  server.fault = (_, response) => response.writeHead(401).end() !== undefined;
  expect((await mcp.discover(ana)).missing).toEqual([{ server: "fake", reason: "auth", stale: false }]);
  server.fault = (_, response) => response.writeHead(502).end() !== undefined;
  expect((await mcp.discover(ana)).missing).toEqual([{ server: "fake", reason: "unavailable", stale: false }]);
});

test("[F-10] (d) 403 for one tool: only this call fails", async () => {
  const { call, server, find } = await start([giving("read", {}), giving("secret", {})]);
  await find(ana, "read");
  server.fault = ({ tool }, response) => tool === "secret" && response.writeHead(403).end(LOGIN) !== undefined;
  const results = await Promise.all([call(ana, "secret"), call(ana, "read")]);
  expect(results).toEqual([
    { kind: "error", reason: "tool", text: "secret is not allowed for this user." },
    { kind: "ok", text: "The tool answered without any data.", data: undefined },
  ]);
  expect(server.calls.filter((one) => one === "initialize")).toHaveLength(1);
});

for (const type of ["text/event-stream", "application/json"]) {
  test(`[E-08] multi-byte characters that arrive one byte at a time (${type})`, async () => {
    const text = "naïve 妊娠 👩‍⚕️ ½";
    const { call, server, find } = await start([giving("read", {})]);
    await find(ana, "read");
    server.fault = ({ rpc, body }, response) => {
      if (!isCall(rpc)) return false;
      const answer = JSON.stringify({ jsonrpc: "2.0", id: body["id"], result: { content: [{ type: "text", text }] } });
      const bytes = Buffer.from(type === "application/json" ? answer : `event: message\ndata: ${answer}\n\n`);
      response.writeHead(200, { "content-type": type });
      const next = (at: number) => {
        if (at === bytes.length) response.end();
        else response.write(bytes.subarray(at, at + 1), () => setImmediate(next, at + 1));
      };
      response.socket?.setNoDelay(true);
      next(0);
      return true;
    };
    expect(await call(ana, "read")).toEqual({ kind: "ok", text, data: undefined });
  });
}
