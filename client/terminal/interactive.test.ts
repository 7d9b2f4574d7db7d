import { PassThrough } from "node:stream";
import { afterEach, expect, test, vi } from "vitest";
import { type Answer, type FakeServer, fakeServer } from "../testing/fake-server.ts";
import { plan, proposal, question } from "../testing/samples.ts";
import type { View } from "../view.ts";
import { type ChatSession, openSession } from "./chat-session.ts";
import { converse } from "./interactive.ts";
import { login } from "./login.ts";
import { printer } from "./printer.ts";
import { style } from "./style.ts";

const started: FakeServer[] = [];
afterEach(async () => {
  for (const server of started.splice(0)) await server.close();
});

const assistant: Answer = async ({ text, resolution }, stage) => {
  if (resolution !== undefined) {
    if (resolution.kind === "accepted") await stage.card("treatment_plan", plan);
    await stage.say(`Noted: ${text}.`);
    return "completed";
  }
  if (text === "ask") return stage.ask(question);
  if (text === "propose") return stage.ask({ kind: "plan_proposal", prompt: "", proposal });
  if (text === "slow") while (!stage.cancelled()) await stage.wait(5);
  else if (text === "stuck") await new Promise(() => {});
  else await stage.say(`echo ${text}`);
  return "completed";
};

type Options = {
  readonly isTty?: boolean;
  /** Another terminal of a session that is there already. */
  readonly of?: Scene;
  /** What it shows, whatever it hears. */
  readonly stuckAt?: View;
};
type Scene = { readonly server: FakeServer; readonly session: ChatSession };

async function scene({ isTty = true, of, stuckAt }: Options = {}) {
  const server = of?.server ?? (await fakeServer({ answer: assistant }));
  if (of === undefined) started.push(server);
  const opened = await openSession(server.url, await login(server.url, "dr-rivera"), of?.session.id);
  const session: ChatSession = stuckAt === undefined ? opened : { ...opened, view: () => stuckAt };
  const input = new PassThrough();
  const output = new PassThrough();
  output.resume();
  let out = "";
  let err = "";
  const talk = printer({ out: (text) => (out += text), err: (text) => (err += text), style: style(false) });
  const code = converse(session, talk, { input, output, isTty });
  return {
    server,
    session,
    code,
    type: (text: string) => void input.write(text),
    ends: () => void input.end(),
    /** Waits until this was printed, and forgets what came before its end. */
    async sees(text: string) {
      await vi.waitFor(() => expect(out + err).toContain(text), { timeout: 5000, interval: 5 });
      const seen = { out, err };
      out = "";
      err = "";
      return seen;
    },
  };
}

const CTRL_C = "\u0003";

test("a question shows its options and is answered by a number; nothing that does not fit is sent", async () => {
  const { type, sees, code, session } = await scene();
  type("ask\n");
  expect(await sees("dismisses")).toEqual({
    out: "\nWhich form does the patient prefer?\n  1. Glycinate: gentle on the gut\n  2. Citrate\n",
    err:
      "Waiting for your answer.\n" +
      '  (answer with a number, "1: your words" to say more; d [reason] dismisses it; anything else is a new message)\n',
  });
  type("3\n");
  expect((await sees("choose among")).err).toBe("(choose among 1 to 2)\n");
  type("2: fewer tablets\n");
  expect((await sees("Noted: Citrate: fewer tablets.")).out.trim()).toBe("Noted: Citrate: fewer tablets.");
  expect(session.view().turns.map(({ cause }) => cause)).toEqual(["message", "resolution"]);
  type("/quit\n");
  expect(await code).toBe(0);
});

test("a proposal is changed, shown again and accepted with the change", async () => {
  const { type, sees, session } = await scene();
  type("propose\n");
  await sees("a accepts");
  type("e 2 200 mg at bedtime\n");
  expect((await sees("(changed)")).out).toContain("dosing: 200 mg at bedtime (changed)");
  type("x 1\n");
  await sees("dropped");
  type("a\n");
  expect((await sees("Noted: Accepted with changes.")).out).toContain("Draft plan created: Magnesium for sleep");
  const [, answered] = session.view().turns;
  expect(answered?.input).toEqual({
    interaction_id: session.view().resolved[0]?.interaction_id,
    resolution: { kind: "accepted", edits: { items: [{ variant_id: "var-700014", dosing: "200 mg at bedtime" }] } },
    label: "Accepted with changes",
  });
  type("/quit\n");
});

test("[D-12] an answer that comes too late starts nothing and is explained", async () => {
  const one = await scene();
  one.type("ask\n");
  await one.sees("dismisses");
  const other = await scene({ of: one, stuckAt: one.session.view() });
  expect((await other.sees("dismisses")).out).toContain("  2. Citrate");
  one.type("d\n");
  await one.sees("Noted");
  other.type("1\n");
  expect((await other.sees("no longer open")).err).toBe(
    "This is no longer open: it was answered, or the conversation went on.\n",
  );
  one.type("ask\n");
  await one.sees("dismisses");
  other.type("1\n");
  expect((await other.sees("no longer open")).err).toBe(
    "This is no longer open: something newer waits for an answer. Look at that one first.\n",
  );
  expect(one.session.view().turns.map(({ cause }) => cause)).toEqual(["message", "resolution", "message"]);
  one.type("/quit\n");
  other.type("/quit\n");
});

test("a question that expires says so, and the next line is a message", async () => {
  const { type, sees, server } = await scene();
  type("ask\n");
  await sees("dismisses");
  server.expire();
  await sees("(the time to answer is over)");
  type("1\n");
  expect((await sees("echo 1")).out.trim()).toBe("echo 1");
  type("/quit\n");
});

test("Ctrl-C stops what runs, then leaves; a second one leaves at once", async () => {
  const calm = await scene();
  calm.type("slow\n");
  await vi.waitFor(() => expect(calm.session.view().turns.length).toBe(1));
  calm.type(CTRL_C);
  await calm.sees("Stopped.");
  calm.type(CTRL_C);
  expect(await calm.code).toBe(0);

  const stuck = await scene();
  stuck.type("stuck\n");
  await vi.waitFor(() => expect(stuck.session.view().turns.length).toBe(1));
  stuck.type(CTRL_C);
  await stuck.sees("(stopping; Ctrl-C again leaves)");
  stuck.type(CTRL_C);
  expect(await stuck.code).toBe(130);
});

test("a pipe is read line by line: a number answers the question before it", async () => {
  const { type, ends, sees, code } = await scene({ isTty: false });
  type("ask\n1\nthanks\n");
  ends();
  expect((await sees("echo thanks")).out).toContain("\nNoted: Glycinate.\necho thanks");
  expect(await code).toBe(0);
});

test("how full the context is stands nowhere until it is asked for", async () => {
  const { type, sees } = await scene();
  type("hello\n");
  await sees("echo hello");
  type("/budget\n");
  expect((await sees("known with")).err).toBe("How full the context is will be known with the next answer.\n");
  type("/quit\n");
});
