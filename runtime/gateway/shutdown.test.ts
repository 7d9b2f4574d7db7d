import { createConnection, type Socket } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { connect, upgradeStatus } from "./testing/client.ts";
import { type Stage, startStage } from "./testing/stage.ts";

let stage: Stage;
afterEach(() => stage.gateway.close());

test("a drain tells every socket to come back, each at its own moment, and takes nobody new", async () => {
  const draws = [0, 0.25, 0.999];
  stage = await startStage({ random: () => draws.shift() ?? 0 });
  const clients = [await connect(stage), await connect(stage), await connect(stage)];
  for (const client of clients) await client.next();
  stage.gateway.announceDrain(2_000);
  const hints = [];
  for (const client of clients) {
    const { kind, data } = await client.next();
    hints.push([kind, data["reconnect_after_ms"]]);
  }
  expect(hints).toEqual([
    ["server_draining", 2_000],
    ["server_draining", 2_500],
    ["server_draining", 3_998],
  ]);
  expect(await upgradeStatus(stage)).toBe(503);
  const headers = { cookie: "user=rivera", origin: stage.origin };
  const made = await fetch(`${stage.gateway.url}/v1/sessions`, { method: "POST", headers });
  expect([made.status, await made.json()]).toMatchObject([503, { error: { code: "draining" } }]);
  expect((await fetch(`${stage.gateway.url}/v1/sessions`, { headers })).status).toBe(200);
  expect(stage.gateway.sockets()).toBe(3);
});

test("[I-03] 100 idle sockets, 20 of which never answer, are closed within 3 s; the stubborn ones are cut", async () => {
  stage = await startStage();
  const polite = await Promise.all(Array.from({ length: 80 }, () => connect(stage)));
  const stubborn = await Promise.all(Array.from({ length: 20 }, () => stubbornSocket(stage)));
  await vi.waitFor(() => expect([stage.gateway.sockets(), stage.conversations.attached()]).toEqual([100, 100]));
  const began = performance.now();
  await stage.gateway.closeAll(1012, "server restarting: reconnect after 2 to 4 s");
  expect(performance.now() - began).toBeLessThan(3_000);
  const codes = await Promise.all(polite.map((client) => client.closed));
  expect(new Set(codes.map(({ code, reason }) => `${code} ${reason}`))).toEqual(
    new Set(["1012 server restarting: reconnect after 2 to 4 s"]),
  );
  expect(stubborn.every(({ closeFrame }) => closeFrame() === 1012)).toBe(true);
  await Promise.all(stubborn.map(({ cut }) => cut()));
  expect([stage.gateway.sockets(), stage.conversations.attached()]).toEqual([0, 0]);
});

test("[I-03] a gateway without sockets closes at once, and its port is free again", async () => {
  stage = await startStage();
  const { port } = stage.gateway;
  stage.gateway.stopListening();
  await stage.gateway.closeAll(1012, "server restarting");
  stage = await startStage({ port });
  expect(stage.gateway.port).toBe(port);
});

type Stubborn = {
  readonly socket: Socket;
  readonly cut: () => Promise<void>;
  readonly closeFrame: () => number | undefined;
};

/** A client that reads and never answers: no close frame, no FIN. Resolves when it is joined. */
function stubbornSocket({ gateway, origin }: Stage): Promise<Stubborn> {
  const socket = createConnection({ port: gateway.port, host: "127.0.0.1", allowHalfOpen: true });
  let received = Buffer.alloc(0);
  socket.on("error", () => {});
  // Only a connection that is really gone resets a write, and that shows at the one after it.
  const cut = () =>
    new Promise<void>((resolve) => {
      const poke = (): void => void socket.write("x", (error) => (error ? resolve() : setImmediate(poke)));
      poke();
    });
  const closeFrame = () => {
    const at = received.indexOf(Buffer.from([0x88]), received.indexOf("session_opened"));
    return at < 0 ? undefined : received.readUInt16BE(at + 2);
  };
  const hello = [
    "GET /v1/socket HTTP/1.1",
    "Host: x",
    `Origin: ${origin}`,
    "Cookie: user=rivera",
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Protocol: dormouse.v1",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  ];
  socket.write([...hello, "", ""].join("\r\n"));
  return new Promise((resolve) => {
    socket.on("data", (data) => {
      received = Buffer.concat([received, data]);
      if (received.includes("session_opened")) resolve({ socket, cut, closeFrame });
    });
  });
}
