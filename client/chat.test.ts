import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test, vi } from "vitest";
import { demoAnswer } from "./testing/demo-answers.ts";
import { type Answer, type FakeServer, fakeServer } from "./testing/fake-server.ts";
import { lifestyle, supplements } from "./testing/samples.ts";
import { uuid } from "./testing/signals.ts";

// Each run is a process of its own, on whatever machine this is.
vi.setConfig({ testTimeout: 60_000 });

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
  const wrong = [
    ["--nonsense"],
    ["--session", "7", "hi"],
    ["--url", "ftp://x", "hi"],
    ["  "],
    ["--accept"],
    ["--session", uuid(9), "--answer", "a", "--accept"],
    ["--session", uuid(9), "--add", "0"],
  ];
  expect(await Promise.all(wrong.map((args) => chat(args)))).toEqual(
    [
      "error: unknown option '--nonsense'",
      "error: --session takes a session id (uuid)",
      "error: --url takes an http:// or https:// address",
      "error: the message is empty",
      "error: --answer, --accept, --dismiss and --add need --session",
      "error: a message, --answer, --accept, --dismiss and --add exclude each other",
      "error: option '--add <n>' argument '0' is invalid. expected the number of an item",
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

test("a question is printed with the exact commands that answer it, and one of them does", async () => {
  const { url } = await serve(demoAnswer);
  const asked = await chat(["--url", url, "--user", "dr-chen", "ask me"]);
  const session = sessionOf(asked);
  const again = `npm run chat -- --url ${url} --user dr-chen --session ${session}`;
  expect(asked).toEqual({
    code: 0,
    out: "\nWhich form does the patient prefer?\n  1. Glycinate: gentle on the gut\n  2. Citrate\n",
    err: [
      "Waiting for your answer.",
      "answer it with:",
      `[1] ${again} --answer gly`,
      `[2] ${again} --answer cit`,
      `${again} --dismiss "reason"`,
      `session ${session}`,
      "",
    ].join("\n"),
  });
  const invalid = await chat(["--url", url, "--session", session, "--answer", "zinc"]);
  expect([invalid.code, invalid.err.split("\n")[0], invalid.err.includes("--answer cit")]).toEqual([
    1,
    "answer it with:",
    true,
  ]);
  expect(invalid.err).toContain("That answer does not fit what was asked: that option was not offered.\n");
  const answered = await chat(["--url", url, "--session", session, "--answer", "2"]);
  expect(answered).toEqual({ code: 0, out: "Noted: Citrate.\n", err: `session ${session}\n` });
  const late = await chat(["--url", url, "--session", session, "--dismiss"]);
  expect([late.code, late.err]).toEqual([1, `session ${session}\nnothing waits for an answer in this conversation\n`]);
});

test("a proposal is accepted or dismissed, and an item of a card added, each with one command", async () => {
  const { url } = await serve(demoAnswer);
  const proposed = await chat(["--url", url, "propose it"]);
  const session = sessionOf(proposed);
  expect(proposed.err).toContain(`npm run chat -- --url ${url} --session ${session} --accept\n`);
  const accepted = await chat(["--url", url, "--session", session, "--accept"]);
  expect([
    accepted.code,
    accepted.out.includes("Draft plan created"),
    accepted.out.includes("Noted: Accepted."),
  ]).toEqual([0, true, true]);
  await chat(["--url", url, "--session", session, "propose again"]);
  const dismissed = await chat(["--url", url, "--session", session, "--dismiss", "too much"]);
  expect([dismissed.code, dismissed.out]).toEqual([0, "Noted: Dismissed: too much.\n"]);

  await chat(["--url", url, "--session", session, "recommend"]);
  const added = await chat(["--url", url, "--session", session, "--add", "2"]);
  expect([added.code, added.out]).toEqual([
    0,
    `${supplements.supplements[1]?.name} was added to the draft "Draft of the button".\n`,
  ]);
  const none = await chat(["--url", url, "--session", session, "--add", "3"]);
  expect([none.code, none.err.split("\n")[1]]).toEqual([
    1,
    "the newest product card of this conversation has no item 3",
  ]);
});
