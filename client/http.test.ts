import { expect, test } from "vitest";
import { HttpRefused, Unreachable } from "./errors.ts";
import { type Fetch, sessionsApi } from "./http.ts";
import { SESSION } from "./testing/signals.ts";

function scene(status: number, body: unknown) {
  const asked: unknown[] = [];
  const fetch: Fetch = async (url, init) => {
    asked.push([init.method, url, init.headers]);
    return { status, ok: status < 400, json: async () => body };
  };
  return { api: sessionsApi("http://h/", fetch, { cookie: "a=b" }), asked };
}

test("each method asks its route with the given headers", async () => {
  const page = {
    session_id: SESSION,
    turns: [],
    state: { status: "resting", pending_interaction: null, queue: [] },
    seq: 0,
  };
  const { api, asked } = scene(200, { ...page, sessions: [] });
  expect(await api.create()).toBe(SESSION);
  expect(await api.list()).toEqual([]);
  expect(await api.page(SESSION, 21)).toEqual(page);
  await api.erase(SESSION);
  expect([await api.probe(), await api.probe(SESSION)]).toEqual([200, 200]);
  const sessions = "http://h/v1/sessions";
  expect(asked).toEqual(
    [
      ["POST", sessions],
      ["GET", sessions],
      ["GET", `${sessions}/${SESSION}?before=21`],
      ["DELETE", `${sessions}/${SESSION}`],
      ["GET", sessions],
      ["GET", `${sessions}/${SESSION}`],
    ].map((line) => [...line, { cookie: "a=b" }]),
  );
});

test("a file is uploaded with its type and gives the id to attach it by", async () => {
  const sent: unknown[] = [];
  const fetch: Fetch = async (url, { method, headers, body }) => {
    sent.push([method, url, headers, await body?.text()]);
    return { status: 201, ok: true, json: async () => ({ blob_id: SESSION }) };
  };
  const api = sessionsApi("http://h/", fetch, { cookie: "a=b" });
  expect(await api.upload(SESSION, new Blob(["words"], { type: "text/plain" }))).toBe(SESSION);
  const headers = { cookie: "a=b", "content-type": "text/plain" };
  expect(sent).toEqual([["POST", `http://h/v1/sessions/${SESSION}/uploads`, headers, "words"]]);
});

test("the server's own code and words come through; without them the status does", async () => {
  const told = scene(404, { error: { code: "not_found", message: "no such session" } });
  await expect(told.api.page(SESSION)).rejects.toEqual(new HttpRefused(404, "not_found", "no such session"));
  const mute = scene(502, "<html>");
  await expect(mute.api.list()).rejects.toEqual(
    new HttpRefused(502, "http_502", "the server answered with status 502"),
  );
});

test("no answer, and an answer of something else, are both `Unreachable`", async () => {
  const dead = sessionsApi("http://h", () => Promise.reject(new TypeError("fetch failed")));
  await expect(dead.list()).rejects.toThrow(Unreachable);
  await expect(scene(200, { hello: 1 }).api.list()).rejects.toThrow("what answers at http://h/ is not Dormouse");
});
