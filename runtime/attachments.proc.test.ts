/** A file from the upload to the answer, in a whole server: what the model gets, what lies on disk, what an erasure leaves. */
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sessionsApi } from "../client/http.ts";
import { pictures } from "../machines/conversation/testing/pictures.ts";
import { s3Server } from "../persistence/blobs/testing/s3-server.ts";
import { processScene, type Server } from "./testing/process.ts";
import { findInFiles } from "./testing/remains.ts";
import type { Talk } from "./testing/talk.ts";

const SECRET = "ZORVANE-7741-on-the-label";
const scene = processScene();
let server: Server;
let cookie: string;
let talk: Talk;
beforeAll(async () => {
  server = await scene.start({ LOG_LEVEL: "trace" });
  cookie = await server.login("dr-rivera");
  talk = await server.talk({ cookie });
});
afterAll(() => scene.clean());

const apiOf = ({ url }: Server, cookie: string) =>
  sessionsApi(url, (address, init) => fetch(address, init), { cookie, origin: url });
const api = () => apiOf(server, cookie);
const png = () => Buffer.concat([pictures.png(800, 600), Buffer.from(SECRET)]);
const blobsOf = (session: string) => join(server.dataDir, "blobs", session);

test("a picture and a text reach the model, which says so; later turns carry them on", async () => {
  const picture = await api().upload(talk.session, new Blob([png()], { type: "image/png" }));
  const note = await api().upload(talk.session, new Blob([`${SECRET} twice a day`], { type: "text/plain" }));
  const first = await talk.say("", { attachments: [picture, note] });
  expect([first.ending, first.text]).toEqual([
    "turn_completed",
    expect.stringMatching(
      /^I received a PNG image of 58 bytes and a text file of 37 bytes\. .*What would you like to know\?$/,
    ),
  ]);
  const second = await talk.say("Does ginkgo interact with warfarin?");
  expect([second.ending, second.tools]).toEqual(["turn_completed", ["load_skill ok", "interaction_check ok"]]);
  const { turns } = await api().page(talk.session);
  expect(turns.map(({ input }) => "attachments" in input && input.attachments)).toEqual([[picture, note], false]);
});

test("[SL1] no file and no log line holds a word of it", async () => {
  expect((await readdir(blobsOf(talk.session))).length).toBe(2);
  // The database's own files are in the same folder.
  expect(findInFiles(server.dataDir, { label: SECRET }).found).toEqual([]);
  expect(server.stdout() + server.stderr()).not.toContain(SECRET);
});

test("a file that is too large, of another kind or of another session is refused in words", async () => {
  const blob = (bytes: Uint8Array<ArrayBuffer>, type: string) => new Blob([bytes], { type });
  const limits = talk.frames.flatMap((frame) => (frame.kind === "session_opened" ? [frame.data.limits] : []));
  expect(limits.map(({ upload_bytes }) => upload_bytes)).toEqual([10_485_760]);
  await expect(api().upload(talk.session, blob(new Uint8Array(10_485_761), "image/png"))).rejects.toMatchObject({
    status: 413,
    code: "too_large",
  });
  await expect(api().upload(talk.session, blob(new Uint8Array(9), "image/svg+xml"))).rejects.toMatchObject({
    status: 415,
  });
  const other = await api().create();
  const foreign = await api().upload(other, blob(new Uint8Array(png()), "image/png"));
  await expect(talk.say("look", { attachments: [foreign] })).rejects.toThrow("refused: invalid_command");
});

test("erasing the session removes its files", async () => {
  expect(existsSync(blobsOf(talk.session))).toBe(true);
  await api().erase(talk.session);
  expect(existsSync(blobsOf(talk.session))).toBe(false);
});

test("with BLOBS_URL=s3://… the same file lies sealed in the bucket and nowhere else", async () => {
  const s3 = await s3Server();
  try {
    const elsewhere = await scene.start({
      BLOBS_URL: `s3://${s3.bucket}/files`,
      S3_ENDPOINT: s3.url,
      AWS_ACCESS_KEY_ID: s3.credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: s3.credentials.secretAccessKey,
    });
    const login = await elsewhere.login("dr-rivera");
    const there = await elsewhere.talk({ cookie: login });
    const own = apiOf(elsewhere, login);
    const picture = await own.upload(there.session, new Blob([png()], { type: "image/png" }));
    const { text } = await there.say("", { attachments: [picture] });
    expect(text).toMatch(/^I received a PNG image of 58 bytes\./);
    const objects = [...s3.objects].map(([key, bytes]) => [key, bytes.includes(SECRET)]);
    expect(objects).toEqual([[`files/${there.session}/${picture}`, false]]);
    expect(existsSync(join(elsewhere.dataDir, "blobs"))).toBe(false);
    await own.erase(there.session);
    expect([s3.objects.size, s3.refused]).toEqual([0, []]);
  } finally {
    await s3.close();
  }
});
