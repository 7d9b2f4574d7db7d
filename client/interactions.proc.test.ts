/** The library and the terminal against a real server: questions, proposals, a card's button, lost lines. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { cutWire } from "../runtime/testing/cut-wire.ts";
import { processScene, type Server } from "../runtime/testing/process.ts";
import {
  accept,
  addToPlan,
  answer,
  type Conversation,
  conversation,
  dismiss,
  message,
  type PendingInteraction,
  readCard,
  type SessionsApi,
  sessionsApi,
  standing,
  storedBlocks,
  type Update,
  type View,
} from "./client.ts";

const scene = processScene();
let server: Server;
let headers: Record<string, string>;
let api: SessionsApi;

beforeAll(async () => {
  server = await scene.start();
  headers = { cookie: await server.login("dr-rivera"), origin: server.url };
  api = sessionsApi(server.url, fetch, headers);
});
afterAll(() => scene.clean());

const open = (session: string, url = server.url): Conversation =>
  conversation({
    url,
    session,
    socket: (address, protocols) => new WebSocket(address, protocols, { headers }),
    probe: api.probe,
  });

/** Reads on until the view is as wanted. */
async function until(chat: Conversation, fits: (view: View) => boolean): Promise<View> {
  if (fits(chat.view)) return chat.view;
  for await (const { view } of chat) if (fits(view)) return view;
  throw new Error("the conversation ended before");
}
const rests = (turns: number) => (view: View) =>
  view.turns.filter(({ ending }) => ending !== undefined).length >= turns && view.status !== "turning";

async function asks(chat: Conversation, text: string): Promise<PendingInteraction> {
  await chat.send(message(text));
  const { pending } = await until(chat, (view) => view.pending !== null);
  if (pending === null) throw new TypeError("nothing is open");
  return pending;
}
const of = ({ id, revision }: PendingInteraction) => ({ interaction_id: id, revision });

describe("a question", () => {
  test("[D-12] is answered once; the late answer of another tab starts nothing, and both show how it ended", async () => {
    const session = await api.create();
    const [one, other] = [open(session), open(session)];
    const pending = await asks(one, "Ask me whether capsules or powder");
    await until(other, (view) => view.pending?.id === pending.id);
    const first = await one.send(answer(pending, ["option-1"], "she has trouble with powders"));
    const late = await other.send(answer(pending, ["option-2"]));
    const same = await other.send(answer(pending, ["option-1"], "she has trouble with powders"));
    expect([first.result, late.result, late.open, same.result]).toEqual(["accepted", "stale", null, "duplicate"]);
    const input = {
      interaction_id: pending.id,
      resolution: { kind: "answered" as const, selected: ["option-1"], text: "she has trouble with powders" },
      label: "Capsules: she has trouble with powders",
    };
    for (const chat of [one, other]) {
      const view = await until(chat, rests(2));
      expect(view.turns.map((turn) => turn.input)).toEqual([{ text: "Ask me whether capsules or powder" }, input]);
      expect(standing(view, of(pending))).toEqual({
        kind: "closed",
        ended: { by: "user", resolution: input.resolution, label: input.label },
      });
      chat.close();
    }
  });

  test("[D-12] an option that was not offered, an id that never was, and one that a message overtook", async () => {
    const session = await api.create();
    const chat = open(session);
    const pending = await asks(chat, "Ask me whether capsules or powder");
    const invalid = await chat.send(answer(pending, ["option-9"]));
    const never = await chat.send(dismiss({ id: session, revision: 1 }));
    await chat.send(message("Does ginkgo interact with warfarin?"));
    const overtaken = await chat.send(answer(pending, ["option-1"]));
    expect([invalid, never, overtaken].map(({ result, open: still }) => [result, still])).toEqual([
      ["invalid", { id: pending.id, revision: 1 }],
      ["not_found", { id: pending.id, revision: 1 }],
      ["stale", null],
    ]);
    const view = await until(chat, rests(2));
    expect([view.turns.map(({ cause }) => cause), standing(view, of(pending))]).toEqual([
      ["message", "message"],
      { kind: "closed", ended: { by: "superseded" } },
    ]);
    chat.close();
  });
});

test("a proposal is accepted with a changed dose: the system stores it, and its card shows it", async () => {
  const chat = open(await api.create());
  const pending = await asks(chat, "Build a plan for Marisol Vantreight with magnesium");
  const [item] = pending.proposal?.items ?? [];
  const dosing = "1 capsule at bedtime";
  const items = [{ variant_id: item?.variant_id ?? "", dosing }];
  expect((await chat.send(accept(pending, { items }))).result).toBe("accepted");
  const view = await until(chat, rests(2));
  const card = view.turns[1]?.blocks.map(readCard).find((one) => one?.kind === "treatment_plan");
  expect(card?.kind === "treatment_plan" && card.data.items.map((one) => one.dosing)).toEqual([dosing]);
  expect(view.turns[1]?.input).toEqual({
    interaction_id: pending.id,
    resolution: { kind: "accepted", edits: { items } },
    label: "Accepted with changes",
  });
  chat.close();
});

test("an item added with a card's button is there after a reload, and pressed again it is not added twice", async () => {
  const session = await api.create();
  const chat = open(session);
  await chat.send(message("Recommend a magnesium product for Tobiah Wrenford"));
  const view = await until(chat, rests(1));
  const block = view.turns[0]?.blocks.find(({ type }) => type === "recommend_supplements");
  const card = block && readCard(block);
  if (block === undefined || card?.kind !== "recommend_supplements") throw new TypeError("there is no card");
  const [one] = card.data.supplements;
  const item = { product_id: one?.product_id ?? "", variant_id: one?.variant_id ?? "", dosing: one?.dosing ?? "" };
  const command = addToPlan(block.block_id, item);
  const [done, again] = [await chat.send(command), await chat.send(command)];
  expect([done.result, again.duplicate]).toEqual(["done", true]);
  const shown = (await until(chat, ({ actions }) => actions.length > 0)).actions;
  const ids = shown.map(({ block_id, action, item: { product_id, variant_id, dosing }, result }) => [
    block_id,
    action,
    { product_id, variant_id, dosing },
    result,
  ]);
  expect(ids).toEqual([[block.block_id, "add_to_plan", item, "done"]]);
  chat.close();
  const reloaded = open(session);
  expect((await until(reloaded, ({ turns }) => turns.length > 0)).turns.map(({ actions }) => actions)).toEqual([shown]);
  reloaded.close();
  const added = await chatCommand("--session", session, "--add", "1");
  expect([added.code, added.out]).toEqual([0, `${one?.name} was added to the draft "Plan for Tobiah Wrenford".\n`]);
});

test("[E-01] [E-07] a line that is cut in an answer: the message is sent again under its id, the text is whole", async () => {
  const line = await cutWire(server.url);
  const session = await api.create();
  const chat = open(session, line.url);
  try {
    await until(chat, ({ seq }) => seq !== undefined);
    await line.cut();
    const receipt = chat.send(message("Does ginkgo interact with warfarin?"));
    await line.mend();
    await until(chat, ({ turns }) => turns[0]?.blocks.some(({ finished }) => !finished) ?? false);
    await line.cut();
    await line.mend();
    const view = await until(chat, rests(1));
    const { turns } = await api.page(session);
    expect((await receipt).queued).toBe(false);
    expect(view.turns.map(storedBlocks)).toEqual(turns.map(({ blocks }) => blocks));
    expect(turns.length).toBe(1);
  } finally {
    chat.close();
    await line.close();
  }
});

test("[E-09] two conversations at a time: each hears its own, and one that was left hears nothing more", async () => {
  const [a, b] = [open(await api.create()), open(await api.create())];
  const heard: Record<"a" | "b", Update[]> = { a: [], b: [] };
  const reading = Promise.all([
    (async () => {
      for await (const update of a) heard.a.push(update);
    })(),
    (async () => {
      for await (const update of b) if (heard.b.push(update) > 0 && rests(1)(update.view)) b.close();
    })(),
  ]);
  await a.send(message("Does ginkgo interact with warfarin?"));
  await b.send(message("Recommend a magnesium product for Tobiah Wrenford"));
  a.close();
  const left = heard.a.length;
  await reading;
  const sessions = (updates: readonly Update[]) => [...new Set(updates.map(({ signal }) => signal.session_id))];
  expect([sessions(heard.a), sessions(heard.b)]).toEqual([[a.session], [b.session]]);
  expect(heard.a.length - left).toBeLessThanOrEqual(1);
});

test("the terminal asks, says how to answer, and answers, one process each", async () => {
  const asked = await chatCommand("Ask me whether capsules or powder");
  const session = /session (\S+)\n$/.exec(asked.err)?.[1] ?? "";
  const again = `npm run chat -- --url ${server.url} --session ${session}`;
  expect(asked.out).toContain("Capsules or powder?\n  1. Capsules\n  2. Powder\n");
  expect(asked.err).toContain(`answer it with:\n[1] ${again} --answer option-1\n[2] ${again} --answer option-2\n`);
  const invalid = await chatCommand("--session", session, "--answer", "tablets");
  expect([invalid.code, invalid.err]).toEqual([1, expect.stringContaining("That answer does not fit what was asked")]);
  const answered = await chatCommand("--session", session, "--answer", "2");
  expect([answered.code, answered.out]).toEqual([0, expect.stringContaining("Powder")]);
  const late = await chatCommand("--session", session, "--dismiss", "too late");
  expect([late.code, late.err]).toEqual([1, expect.stringContaining("nothing waits for an answer")]);
});

function chatCommand(...args: string[]) {
  const script = fileURLToPath(new URL("./chat.ts", import.meta.url));
  const child = spawn(process.execPath, ["--import", "tsx", script, "--url", server.url, ...args], { timeout: 60_000 });
  let out = "";
  let err = "";
  child.stdout.on("data", (data) => (out += data));
  child.stderr.on("data", (data) => (err += data));
  child.stdin.end();
  return new Promise<{ readonly code: number | null; readonly out: string; readonly err: string }>((done) =>
    child.on("close", (code) => done({ code, out, err })),
  );
}
