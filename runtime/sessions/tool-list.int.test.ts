import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { assist } from "../../assist.config.ts";
import { loadSkills } from "../../skills/registry.ts";
import { mcpServers } from "../../tools/mcp/servers.ts";
import { FakeMcpServer, type FakeTool } from "../../tools/mcp/testing/fake-server.ts";
import { StepClock } from "../../tools/mcp/testing/scene.ts";
import { toolboxes } from "../../tools/toolbox.ts";
import { capabilitiesOf } from "../capabilities.ts";
import { realChance, realClock } from "../effects.ts";
import { calls, callsAll, type Move, says, scriptedModel } from "../models/scripted.ts";
import { gate } from "./testing/held.ts";
import { sessionOn } from "./testing/looks.ts";
import { database, rivera } from "./testing/scene.ts";

let db: Awaited<ReturnType<typeof database>>;
beforeAll(async () => {
  db = await database();
});
afterAll(() => db.end());

const running: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of running.splice(0).reverse()) await stop();
});

const named = (name: string, over: Partial<FakeTool> = {}): FakeTool => ({
  name,
  annotations: { readOnlyHint: true },
  run: () => ({ content: [{ type: "text", text: `${name} ran` }] }),
  ...over,
});

/** A session whose tools are those of a real MCP server: "b", and "a", which answers when it is told to. */
async function scene(...moves: readonly [Move, ...Move[]]) {
  const [called, answered] = [gate(), gate()];
  const a = named("a", {
    async run() {
      called.open();
      await answered.opened;
      return { content: [{ type: "text", text: "a ran" }] };
    },
  });
  const server = await FakeMcpServer.start([a, named("b")]);
  const clock = new StepClock();
  const mcp = mcpServers({ servers: [{ name: "fake", url: server.url, bareNames: true }], clock });
  running.push(
    () => server.stop(),
    () => mcp.close(),
  );
  const agent = { ...assist, builtins: [] };
  const skills = loadSkills({ names: assist.skills });
  const capabilities = capabilitiesOf({
    agent,
    skills,
    toolboxes: toolboxes({ agent, skills, mcp }),
    clock: realClock,
    chance: realChance,
  });
  const model = scriptedModel(...moves);
  const one = await sessionOn(db.store, { model, world: () => ({ capabilities }) });
  const offered = () => model.requests.map(({ tools }) => tools.map(({ name }) => name));
  const results = () =>
    (model.requests.at(-1)?.entries ?? []).flatMap((entry) =>
      entry.kind === "tool_result" ? [[entry.name, entry.outcome, entry.text]] : [],
    );
  const listed = async () => (await mcp.discover(rivera)).tools.map(({ name }) => name);
  const mayAnswer = answered.open;
  return { ...one, server, clock, model, offered, results, listed, called: called.opened, mayAnswer };
}

test("F-04 a list that changes while a step runs: the step ends with the old set, the next is offered the new one", async () => {
  const changed = { type: "object", properties: { x: { type: "string" } } };
  const { client, server, listed, model, offered, results, called, mayAnswer } = await scene(
    callsAll([{ tool: "a" }, { tool: "b" }]),
    callsAll([{ tool: "b" }, { tool: "c" }]),
    says("done"),
  );
  await client.say("go");
  await called;
  await client.until("tool_call_finished", ({ data }) => data.name === "b");
  await vi.waitFor(() => expect(server.seen.some(({ method }) => method === "GET")).toBe(true));
  // evidence_search is behind a flag that this user lacks, whatever the server lists.
  server.tools = () => [named("a", { inputSchema: changed }), named("c"), named("evidence_search")];
  await server.announceTools();
  await vi.waitFor(async () => expect(await listed()).toEqual(["a", "c", "evidence_search"]));
  mayAnswer();
  await client.asleep();
  expect(offered()).toEqual([
    ["a", "b"],
    ["a", "c"],
    ["a", "c"],
  ]);
  expect(model.requests.map(({ tools }) => tools[0]?.inputSchema)).toEqual([{ type: "object" }, changed, changed]);
  expect(results().toSorted()).toEqual([
    ["a", "ok", "a ran"],
    ["b", "error", expect.stringMatching(/^There is no tool "b"\. Nothing was run\./)],
    ["b", "ok", "b ran"],
    ["c", "ok", "c ran"],
  ]);
  expect(server.calls.filter((one) => one === "tools/call b")).toEqual(["tools/call b"]);
});

/** Each call of it takes 25 s of the tools' time: after three of them a list is old. */
const slow = (clock: StepClock) =>
  named("a", {
    run() {
      clock.advance(25_000);
      return { content: [{ type: "text", text: "a ran" }] };
    },
  });

test("F-04 without an announcement the new list is offered once the old one is a minute old, also within a turn", async () => {
  const { client, server, clock, offered } = await scene(calls("a"), calls("a"), calls("a"), says("done"));
  server.tools = () => [slow(clock), ...(clock.now() > began ? [named("c")] : [named("b")])];
  const began = clock.now();
  await client.say("go");
  await client.asleep();
  expect(offered()).toEqual([
    ["a", "b"],
    ["a", "b"],
    ["a", "b"],
    ["a", "c"],
  ]);
});

test("F-04 a server that refuses its list in the middle of a turn takes no tools away from it", async () => {
  const moves = [calls("a"), calls("a"), calls("a"), calls("b"), says("done")] as const;
  const { client, server, clock, offered, results } = await scene(...moves);
  server.tools = () => [slow(clock), named("b")];
  const began = clock.now();
  let refused = 0;
  server.fault = ({ rpc }, response) => {
    if (rpc !== "tools/list" || clock.now() === began) return false;
    refused += 1;
    return response.writeHead(401).end() !== undefined;
  };
  await client.say("go");
  await client.asleep();
  expect([offered(), refused > 0]).toEqual([Array(5).fill(["a", "b"]), true]);
  expect(results().at(-1)).toEqual(["b", "ok", "b ran"]);
});
