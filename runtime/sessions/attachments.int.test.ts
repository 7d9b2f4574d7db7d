import { randomUUID } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { blobId, commandId, userId } from "../../machines/ids.ts";
import type { ModelRequest } from "../../machines/model.ts";
import { type BlobStore, BlobsUnavailable } from "../../persistence/blobs/blob-store.ts";
import { fileBlobs } from "../../persistence/blobs/file-store.ts";
import { calls, decides, says, scriptedModel } from "../models/scripted.ts";
import { Client, database, node, rivera, type ToolScript } from "./testing/scene.ts";

const SECRET = "ZORVANE-7741 on the label";

let folder: string;
let db: Awaited<ReturnType<typeof database>>;
/** Keys that were read, and what reading them does. */
let reads: string[];
let broken: boolean;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "blobs-"));
  const files = fileBlobs(folder);
  const watched: BlobStore = {
    ...files,
    async get(key) {
      reads.push(key);
      if (broken) throw new BlobsUnavailable("read", new Error());
      return await files.get(key);
    },
  };
  db = await database(watched);
  reads = [];
  broken = false;
});
afterAll(async () => {
  await db.end();
  await rm(folder, { recursive: true });
});
afterEach(() => {
  reads = [];
  broken = false;
});

const answering = decides(() => says("seen"));

async function scene(model = scriptedModel(answering)) {
  const look: ToolScript = { name: "look", run: async () => ({ kind: "ok", text: "looked" }) };
  const one = node(db.store, { model, tools: [look] });
  const id = await one.conversations.create(rivera);
  const client = await Client.open(one.conversations, id);
  const upload = (text = SECRET) => one.conversations.upload(id, rivera, "text/plain", Buffer.from(text));
  const send = (text: string, attachments: readonly string[]) =>
    client.deliver({ type: "message", id: commandId(randomUUID()), text, attachments: [...attachments] });
  return { ...one, model, id, client, upload, send };
}

/** What the model got of files: markers in the entries, bytes beside them. */
function filesIn({ entries, media }: ModelRequest) {
  return {
    markers: entries.flatMap((entry) => (entry.kind === "user" ? (entry.attachments ?? []) : [])),
    bytes: [...(media ?? [])].map(([id, { mime, bytes }]) => [id, mime, Buffer.from(bytes).toString()]),
  };
}

test("[AT1] the entry holds a marker, the model gets the bytes, the client sees the ids", async () => {
  const { client, id, model, upload, send } = await scene();
  const [one, two] = [await upload(), await upload("second")];
  await send("look", [two, one, two]);
  await client.asleep();
  const markers = [
    { blobId: two, mime: "text/plain", bytes: 6, tokens: 1 },
    { blobId: one, mime: "text/plain", bytes: SECRET.length, tokens: expect.any(Number) },
  ];
  expect(model.requests.map(filesIn)).toEqual([
    {
      markers,
      bytes: [
        [two, "text/plain", "second"],
        [one, "text/plain", SECRET],
      ],
    },
  ]);
  const input = { text: "look", attachments: [two, one, two] };
  expect(client.of("turn_started").map((turn) => turn.input)).toEqual([input]);
  expect((await db.store.turns.page(id, 5)).map((turn) => turn.input)).toEqual([input]);
  const [row] = await db.store.histories.load(id, 0);
  expect(row?.entry).toEqual({ kind: "user", turnId: expect.any(String), text: "look", attachments: markers });
});

test("[AT2] the bytes go with every step and every later turn, but are fetched once a turn; nothing else holds them", async () => {
  const { client, id, model, upload, send } = await scene(scriptedModel(calls("look"), says("one"), says("two")));
  const one = await upload();
  await send("", [one]);
  await client.asleep();
  expect([model.requests.map((request) => request.media?.size), reads]).toEqual([[1, 1], [`${id}/${one}`]]);
  client.clear();
  await client.say("and now?");
  await client.asleep();
  expect([model.requests[2]?.media?.size, reads.length]).toEqual([1, 2]);
  expect(JSON.stringify([client.signals, await db.store.histories.load(id, 0)])).not.toContain("ZORVANE");
});

test("[C-09] the budget that is shown counts the file", async () => {
  const { client, upload, send } = await scene();
  const tokens = async (name: string) => {
    const [{ parts } = { parts: { tail: 0 } }] = client.of("context_budget").slice(-1);
    return [name, parts.tail > 1_000];
  };
  await client.say("small");
  await client.asleep();
  const before = await tokens("before");
  client.clear();
  await send("large", [await upload("many words in a file ".repeat(500))]);
  await client.asleep();
  expect([before, await tokens("after")]).toEqual([
    ["before", false],
    ["after", true],
  ]);
});

test("[AT3] an id that is no upload of this session refuses the message and names it; nothing runs", async () => {
  const { client, conversations, model, send, upload } = await scene();
  const other = await conversations.create(rivera);
  const foreign = await conversations.upload(other, rivera, "text/plain", Buffer.from("x"));
  const [own, unknown] = [await upload(), randomUUID()];
  const refused = [await send("look", [own, foreign]), await send("look", [unknown])];
  expect(refused.map(({ kind, data }) => [kind, "code" in data && [data.code, data.message]])).toEqual([
    ["error", ["invalid_command", `attachment ${foreign} is not an upload of this session`]],
    ["error", ["invalid_command", `attachment ${unknown} is not an upload of this session`]],
  ]);
  expect([client.of("turn_started"), model.requests]).toEqual([[], []]);
});

test("[AT4] the same command with attachments twice is one turn", async () => {
  const { client, upload } = await scene();
  const command = { type: "message", id: randomUUID(), text: "look", attachments: [await upload()] } as const;
  const again = { ...command, attachments: [...command.attachments] };
  await client.deliver({ ...command, attachments: [...command.attachments] });
  await client.asleep();
  const receipt = await client.deliver(again);
  expect([receipt.kind, receipt.data, client.of("turn_started").length]).toMatchObject([
    "message_accepted",
    { duplicate: true },
    1,
  ]);
});

test("[AT5] bytes that are gone leave the marker, and the turn is answered", async () => {
  const { client, id, model, upload, send } = await scene();
  const one = await upload();
  await rm(join(folder, id, one));
  await send("look", [one]);
  await client.asleep();
  expect(model.requests.map((request) => [request.media, filesIn(request).markers.length])).toEqual([[undefined, 1]]);
  expect(client.of("turn_completed").length).toBe(1);
});

test("[AT6] a blob store that does not answer fails the turn, which may be tried again; the next one works", async () => {
  const { client, model, upload, send } = await scene();
  broken = true;
  await send("look", [await upload()]);
  await client.asleep();
  expect(client.of("turn_failed")).toEqual([
    expect.objectContaining({ code: "unavailable", retryable: true, message: expect.any(String) }),
  ]);
  broken = false;
  client.clear();
  await client.say("again");
  await client.asleep();
  expect([client.of("turn_completed").length, model.requests.map((request) => request.media?.size)]).toEqual([1, [1]]);
});

test("[AT7] the title of a conversation that begins with a file alone says so, and erasing it removes the bytes", async () => {
  const { client, conversations, id, upload, send } = await scene();
  await send("", [await upload()]);
  await client.asleep();
  expect((await conversations.list(rivera)).find((one) => one.session_id === id)?.title).toBe("Shared a file");
  expect(await readdir(folder)).toContain(id);
  await conversations.erase(id, rivera);
  expect(await readdir(folder)).not.toContain(id);
  await expect(conversations.upload(id, rivera, "text/plain", Buffer.from("x"))).rejects.toMatchObject({
    code: "not_found",
  });
});

test("[E-09] nobody uploads into another's session", async () => {
  const { conversations, id } = await scene();
  const chen = { ...rivera, principal: { ...rivera.principal, userId: userId("dr-chen") } };
  await expect(conversations.upload(id, chen, "text/plain", Buffer.from("x"))).rejects.toMatchObject({
    code: "not_found",
  });
  expect((await db.sql`select count(*)::int as n from blobs where session_id = ${id}`)[0]).toEqual({ n: 0 });
  expect(await db.store.blobs.attach(id, [blobId(randomUUID())])).toEqual([]);
});
