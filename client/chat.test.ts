import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { type Answer, type FakeServer, fakeServer } from "./testing/fake-server.ts";
import { lifestyle } from "./testing/samples.ts";
import { uuid } from "./testing/signals.ts";

const started: FakeServer[] = [];
afterEach(async () => {
  for (const server of started.splice(0)) await server.close();
});

async function serve(answer: Answer): Promise<FakeServer> {
  const server = await fakeServer({ answer });
  started.push(server);
  return server;
}

type Run = { readonly code: number | null; readonly out: string; readonly err: string };

function chat(args: readonly string[], input = ""): Promise<Run> {
  const script = fileURLToPath(new URL("./chat.ts", import.meta.url));
  const child = spawn(process.execPath, ["--import", "tsx", script, ...args], { timeout: 15_000 });
  let out = "";
  let err = "";
  child.stdout.on("data", (data) => (out += data));
  child.stderr.on("data", (data) => (err += data));
  child.stdin.end(input);
  return new Promise((done) => child.on("close", (code) => done({ code, out, err })));
}

const sessionOf = ({ err }: Run): string => /session (\S+)\n$/.exec(err)?.[1] ?? "none";
const echo: Answer = async ({ text }, stage) => {
  await stage.tool("patient_search", "Look for patients");
  await stage.say(`You said: ${text}`);
  await stage.card("recommend_lifestyle", lifestyle);
  return "completed";
};

test("one message: the answer on stdout, the rest on stderr, the session last, exit 0; --session goes on", async () => {
  const { url } = await serve(echo);
  const first = await chat(["--url", url, "hello"]);
  const session = sessionOf(first);
  expect(first).toEqual({
    code: 0,
    out: "You said: hello\n\nLifestyle\n  - Regular bedtime\n    Same hour within 30 minutes, also at weekends.\n",
    err: `  … Look for patients\n  ✓ Look for patients (340 ms)\nsession ${session}\n`,
  });
  const second = await chat(["--url", url, "--session", session, "again"]);
  expect([second.code, second.out.split("\n")[0], sessionOf(second)]).toEqual([0, "You said: again", session]);
});

test("a failed turn shows its message and exits 1", async () => {
  const { url } = await serve(async () => "failed");
  const run = await chat(["--url", url, "hello"]);
  expect(run).toEqual({ code: 1, out: "", err: `failed: The model can't be reached.\nsession ${sessionOf(run)}\n` });
});

test("[E-01] a connection cut in the middle of an answer loses nothing of it", async () => {
  const server = await serve(async (_, stage) => {
    await stage.say("The first half, ");
    server.cut(1012);
    await stage.say("and the second.");
    return "completed";
  });
  const run = await chat(["--url", server.url, "hello"]);
  expect(run).toEqual({
    code: 0,
    out: "The first half, \nand the second.\n",
    err: `(connection lost, reconnecting)\nsession ${sessionOf(run)}\n`,
  });
});

test("without a server: what to do, exit 1", async () => {
  const server = await serve(echo);
  await server.close();
  started.length = 0;
  expect(await chat(["--url", server.url, "hello"])).toEqual({
    code: 1,
    out: "",
    err: `no server answers at ${server.url}; start it with: npm start\n`,
  });
});

test("a session that is not there: exit 1", async () => {
  const { url } = await serve(echo);
  expect(await chat(["--url", url, "--session", uuid(9), "hello"])).toEqual({
    code: 1,
    out: "",
    err: "no such session\n",
  });
});

test("wrong usage exits 2 and says what is wrong", async () => {
  const wrong = [["--nonsense"], ["--session", "7", "hi"], ["--url", "ftp://x", "hi"], ["  "]];
  expect(await Promise.all(wrong.map((args) => chat(args)))).toEqual(
    [
      "error: unknown option '--nonsense'",
      "error: --session takes a session id (uuid)",
      "error: --url takes an http:// or https:// address",
      "error: the message is empty",
    ].map((line) => ({ code: 2, out: "", err: `${line}\n` })),
  );
});

test("a conversation over a pipe answers each line and leaves at the end of input", async () => {
  const { url } = await serve(async ({ text }, stage) => {
    await stage.say(`echo ${text}`);
    return "completed";
  });
  const run = await chat(["--url", url], "one\ntwo\n");
  expect([run.code, run.out]).toEqual([0, "echo one\necho two\n"]);
});
