import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect as connectTcp, type Socket } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { Refused } from "../sessions/conversations.ts";
import { LIMITS, type Stage, startStage } from "./testing/stage.ts";

const LIMIT = 200_000;
let stage: Stage;
let session: string;
afterEach(() => stage.gateway.close());

async function open(draining = false) {
  stage = await startStage({ limits: { ...LIMITS, upload_bytes: LIMIT } });
  const made = await fetch(`${stage.gateway.url}/v1/sessions`, { method: "POST", headers: own() });
  session = ((await made.json()) as { session_id: string }).session_id;
  if (draining) stage.gateway.announceDrain(1);
}
const own = (user = "rivera") => ({ cookie: `user=${user}`, origin: stage.origin });

const PNG = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
const samples: Readonly<Record<string, Buffer>> = {
  "image/png": PNG,
  "image/jpeg": Buffer.from("ffd8ffe000104a46", "hex"),
  "image/gif": Buffer.from("GIF89a......"),
  "image/webp": Buffer.from("RIFF\x01\x02\x03\x04WEBPVP8 "),
  "application/pdf": Buffer.from("%PDF-1.7\n"),
  "text/plain": Buffer.from("naïve 妊娠 ✓"),
};

async function upload(
  body: Uint8Array | ReadableStream<Uint8Array>,
  type: string,
  headers: Record<string, string> = own(),
  id = session,
) {
  const response = await fetch(`${stage.gateway.url}/v1/sessions/${id}/uploads`, {
    method: "POST",
    headers: { ...headers, "content-type": type },
    body,
    ...(body instanceof ReadableStream && { duplex: "half" }),
  } as RequestInit);
  const answer = (await response.json()) as { blob_id?: string; error?: { code: string; message: string } };
  return { status: response.status, code: answer.error?.code, blob: answer.blob_id, message: answer.error?.message };
}
const brief = async (...input: Parameters<typeof upload>) => {
  const { status, code } = await upload(...input);
  return [status, code];
};

test("[UP1] each allowed type is taken, byte for byte, and answered with an id", async () => {
  await open();
  for (const [mime, bytes] of Object.entries(samples)) {
    const { status, blob } = await upload(bytes, mime === "text/plain" ? "Text/Plain; charset=utf-8" : mime);
    expect([status, blob]).toEqual([201, expect.stringMatching(/^[0-9a-f-]{36}$/)]);
  }
  expect(stage.conversations.uploaded.map(({ mime, bytes, session }) => [session, mime, Buffer.from(bytes)])).toEqual(
    Object.entries(samples).map(([mime, bytes]) => [session, mime, bytes]),
  );
});

test("[UP2] a body of exactly the limit is taken whole, in one piece or in many", async () => {
  await open();
  const bytes = Buffer.concat([PNG, randomBytes(LIMIT - PNG.length)]);
  const pieces = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += 7_777) controller.enqueue(bytes.subarray(at, at + 7_777));
      controller.close();
    },
  });
  expect([await brief(bytes, "image/png"), await brief(pieces, "image/png")]).toEqual([
    [201, undefined],
    [201, undefined],
  ]);
  expect(stage.conversations.uploaded.map((one) => bytes.equals(one.bytes))).toEqual([true, true]);
});

test("[UP3] what is not on the list, or not what it claims to be, is refused", async () => {
  await open();
  const svg = Buffer.from("<svg onload=alert(1)>");
  const refused: (readonly [Buffer, string])[] = [
    [svg, "image/svg+xml"],
    [svg, "text/html"],
    [svg, "image/png"],
    [svg, ""],
    [samples["image/jpeg"] ?? PNG, "image/png"],
    [PNG.subarray(0, 7), "image/png"],
    [Buffer.from("RIFF....WAVEfmt "), "image/webp"],
    [PNG, "text/plain"],
    [Buffer.from([0x61, 0xff, 0xfe]), "text/plain"],
    [Buffer.from(" %PDF-1.7"), "application/pdf"],
  ];
  for (const [bytes, type] of refused)
    expect([type, await brief(bytes, type)]).toEqual([type, [415, "unsupported_media_type"]]);
  expect(await brief(Buffer.alloc(0), "image/png")).toEqual([400, "invalid_request"]);
  expect(stage.conversations.uploaded).toEqual([]);
});

test("[UP4] no origin, no login, no session of the caller's: refused before the body is looked at", async () => {
  await open();
  const unknown = "00000000-0000-4000-8000-000000000009";
  const { cookie, origin } = own();
  expect([
    await brief(PNG, "image/png", { cookie }),
    await brief(PNG, "image/png", { cookie, origin: "https://evil.example" }),
    await brief(PNG, "image/png", { origin }),
    await brief(PNG, "image/png", { origin, cookie: "stale" }),
    await brief(PNG, "image/png", own("chen")),
    await brief(PNG, "image/png", own(), unknown),
    await brief(PNG, "image/png", own(), "..%2f"),
  ]).toEqual([
    [403, "origin_not_allowed"],
    [403, "origin_not_allowed"],
    [401, "auth_required"],
    [401, "auth_required"],
    [404, "not_found"],
    [404, "not_found"],
    [404, "not_found"],
  ]);
  expect(stage.conversations.uploaded).toEqual([]);
  const put = await fetch(`${stage.gateway.url}/v1/sessions/${session}/uploads`, { method: "PUT", headers: own() });
  expect([put.status, put.headers.get("allow")]).toEqual([405, "POST"]);
});

/** A request by hand, so that the test decides when the client stops sending. */
async function begin(head: Record<string, string | number>): Promise<Socket & { answer(): Promise<string> }> {
  const socket = connectTcp(stage.gateway.port, "127.0.0.1");
  await once(socket, "connect");
  const { cookie, origin } = own();
  const lines = Object.entries({ host: "here", cookie, origin, "content-type": "image/png", ...head });
  socket.write(`POST /v1/sessions/${session}/uploads HTTP/1.1\r\n`);
  socket.write(`${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`);
  return Object.assign(socket, { answer: async () => String((await once(socket, "data"))[0]) });
}

test("[UP5] a length that is over the limit is refused before a byte is sent", async () => {
  await open();
  const client = await begin({ "content-length": LIMIT + 1 });
  const answer = await client.answer();
  expect(answer).toMatch(/^HTTP\/1\.1 413 Content Too Large\r\n/);
  expect(answer).toContain(`"code":"too_large","message":"at most ${LIMIT} bytes are taken"`);
  client.destroy();
});

test("[UP6] a body without a length is refused as soon as it passes the limit, while the client still sends", async () => {
  await open();
  const client = await begin({ "transfer-encoding": "chunked" });
  const chunk = randomBytes(50_000);
  for (let sent = 0; sent <= LIMIT; sent += chunk.length)
    client.write(Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from("\r\n")]));
  expect(await client.answer()).toMatch(/^HTTP\/1\.1 413 /);
  client.destroy();
  expect(await brief(PNG, "image/png")).toEqual([201, undefined]);
});

test("[UP7] a client that goes away halfway leaves nothing, and the server goes on", async () => {
  await open();
  const check = vi.spyOn(stage.conversations, "check");
  const client = await begin({ "content-length": 1_000 });
  client.write(PNG);
  await vi.waitFor(() => expect(check).toHaveBeenCalled());
  client.destroy();
  expect(await brief(PNG, "image/png")).toEqual([201, undefined]);
  expect([stage.conversations.uploaded.length, stage.errors]).toEqual([1, []]);
});

test("[UP8] the body waits in the network until it is known whose it is", async () => {
  await open();
  let answered: (() => void) | undefined;
  const gate = new Promise<void>((resolve) => (answered = resolve));
  const { platform } = stage;
  stage.platform = async (cookie) => {
    await gate;
    return platform(cookie);
  };
  const bytes = Buffer.concat([PNG, randomBytes(LIMIT - PNG.length)]);
  const uploading = upload(bytes, "image/png");
  await vi.waitFor(() => expect(stage.asked.length).toBe(2));
  answered?.();
  expect((await uploading).status).toBe(201);
  expect(bytes.equals(stage.conversations.uploaded[0]?.bytes ?? Buffer.alloc(0))).toBe(true);
});

test("[UP9] a store that fails is `unavailable`; one that is full, and a server that stops, say so", async () => {
  await open();
  stage.conversations.upload = () => Promise.reject(new Refused("unavailable", "not now"));
  expect(await brief(PNG, "image/png")).toEqual([503, "unavailable"]);
  stage.conversations.upload = () => Promise.reject(new TypeError("secret detail"));
  expect(await upload(PNG, "image/png")).toMatchObject({ status: 500, message: expect.not.stringContaining("secret") });
  stage.gateway.close();
  await open(true);
  expect(await brief(PNG, "image/png")).toEqual([503, "draining"]);
});
