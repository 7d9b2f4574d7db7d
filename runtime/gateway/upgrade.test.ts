import { readdirSync } from "node:fs";
import { createConnection } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import type { Authentication } from "./authenticate.ts";
import type { GatewayServices } from "./services.ts";
import { connect, upgradeStatus } from "./testing/client.ts";
import { loginOf, type Stage, startStage } from "./testing/stage.ts";

let stage: Stage;
afterEach(() => stage.gateway.close());

const open = async (changes: Partial<GatewayServices> = {}) => {
  stage = await startStage(changes);
};

test("[E-03] only the exact origin gets a socket, and no cookie leaves before", async () => {
  await open();
  const { port } = stage.gateway;
  const foreign = [
    undefined,
    "null",
    "https://evil.example",
    `https://127.0.0.1:${port}`,
    "http://127.0.0.1",
    `http://127.0.0.1:${port}/`,
    `http://127.0.0.1:${port}.evil.example`,
  ];
  for (const origin of foreign) expect([origin, await upgradeStatus(stage, { origin })]).toEqual([origin, 403]);
  expect(stage.asked).toEqual([]);
  expect(await upgradeStatus(stage)).toBe(101);
  expect(await upgradeStatus(stage, { origin: `http://localhost:${port}` })).toBe(101);
});

test("[E-03] a configured list replaces the own origin, and clients without one need the flag", async () => {
  await open({ origins: ["https://app.example"], allowNoOrigin: true });
  const statuses = [];
  for (const origin of ["https://app.example", undefined, stage.origin, "null"])
    statuses.push(await upgradeStatus(stage, { origin }));
  expect(statuses).toEqual([101, 101, 403, 403]);
});

test("an upgrade needs the sub-protocol, a login, an own session and a platform that answers", async () => {
  await open();
  const own = (await connect(stage)).frames;
  await vi.waitFor(() => expect(own).toHaveLength(1));
  const query = `?session=${own[0]?.session_id}`;
  expect(await upgradeStatus(stage, { protocol: "dormouse.v2" })).toBe(400);
  expect(await upgradeStatus(stage, { query: `${query}&after=-1` })).toBe(400);
  expect(await upgradeStatus(stage, { query })).toBe(101);
  expect(await upgradeStatus(stage, { user: "no user" })).toBe(401);
  expect(await upgradeStatus(stage, { user: "chen", query })).toBe(404);
  expect(await upgradeStatus(stage, { query: "?session=00000000-0000-4000-8000-000000000009" })).toBe(404);
  expect(await upgradeStatus(stage, { query: "?session=x" })).toBe(404);
  stage.platform = () => ({ kind: "unreachable" });
  expect(await upgradeStatus(stage)).toBe(503);
});

test("only the cookie travels to the authenticator; `after` arrives at the session", async () => {
  await open();
  const first = await connect(stage);
  const id = (await first.next()).session_id;
  const second = await connect(stage, { query: `?session=${id}&after=41` });
  expect(second.socket.protocol).toBe("dormouse.v1");
  expect((await second.next()).session_id).toBe(id);
  expect([stage.asked, stage.conversations.attachedAfter]).toEqual([
    ["user=rivera", "user=rivera"],
    [undefined, 41],
  ]);
});

test("[E-05] 1000 upgrades and requests, half of whose clients leave in the middle, leave nothing behind", async () => {
  await open({ allowNoOrigin: true });
  const random = seeded(20_260_101);
  const answers = new Map<string, Authentication>([
    ["200", loginOf("rivera")],
    ["401", { kind: "no_login" }],
    ["500", { kind: "unreachable" }],
  ]);
  stage.platform = async (cookie) => {
    await pause(random() * 200);
    return answers.get(cookie) ?? { kind: "unreachable" };
  };
  const expected: Record<string, number> = { "200": 101, "401": 401, "500": 503 };
  const before = openFiles();
  const results = await Promise.all(
    Array.from({ length: 1_000 }, async (_, index) => {
      await pause(random() * 400);
      const cookie = ["200", "401", "500"][index % 3] ?? "";
      const isUpgrade = index % 5 !== 0;
      const leaves = index % 2 === 0 ? random() * 200 : undefined;
      const status = await rawRequest(stage.gateway.port, cookie, isUpgrade, leaves);
      const right = isUpgrade || cookie !== "200" ? expected[cookie] : 200;
      return status === right || (leaves !== undefined && status === undefined) ? "right" : `${cookie} ${status}`;
    }),
  );
  expect([...new Set(results)]).toEqual(["right"]);
  await vi.waitFor(() => expect([stage.gateway.sockets(), stage.conversations.attached()]).toEqual([0, 0]), 5_000);
  await vi.waitFor(() => expect(openFiles()).toBeLessThanOrEqual(before + 5), 5_000);
  expect(stage.errors).toEqual([]);
  expect(await upgradeStatus(stage, { user: "x" })).toBe(503);
});

/** Speaks HTTP by hand, so that it can leave at any moment. The status, or undefined when it left before one came. */
function rawRequest(
  port: number,
  cookie: string,
  isUpgrade: boolean,
  leaveAfter?: number,
): Promise<number | undefined> {
  return new Promise((resolve) => {
    const socket = createConnection(port, "127.0.0.1");
    const leaving = leaveAfter === undefined ? undefined : setTimeout(() => socket.destroy(), leaveAfter);
    let status: number | undefined;
    socket.once("data", (data) => {
      status = Number(/^HTTP\/1\.1 (\d+)/.exec(String(data))?.[1]);
      if (leaveAfter === undefined) socket.destroy();
    });
    socket.on("error", () => {});
    socket.once("close", () => {
      clearTimeout(leaving);
      resolve(status);
    });
    const lines = isUpgrade
      ? [
          "GET /v1/socket HTTP/1.1",
          "Upgrade: websocket",
          "Connection: Upgrade",
          "Sec-WebSocket-Version: 13",
          "Sec-WebSocket-Protocol: dormouse.v1",
          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ]
      : ["GET /v1/sessions HTTP/1.1"];
    socket.write([...lines, "Host: x", `Cookie: ${cookie}`, "", ""].join("\r\n"));
  });
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}

/** Linux only; elsewhere the count is not known and stays equal. */
function openFiles(): number {
  return process.platform === "linux" ? readdirSync("/proc/self/fd").length : 0;
}
