import { loadDataset } from "../../tools/platform/catalog/dataset.ts";
import { type Address, Talker } from "../client.ts";
import { BenchFailed } from "../harness.ts";

/** Answered by one search on the platform, without a skill. */
const CHAT = "What is the usual dose of zinc?";
/** A job waits behind many others; its parent gives it up before that. */
const JOB_PATIENCE_MS = 150_000;

/** Something that happened, on this process's clock in ms. */
export type Timed<T> = { readonly at: number; readonly value: T };

export type Going<T> = {
  readonly heard: readonly Timed<T>[];
  /** Rejects when one of them can't go on. */
  readonly work: Promise<unknown>;
  /** Begins nothing new, and waits for what has begun. */
  stop(): Promise<void>;
};

/**
 * `count` new sessions, each of which asks as soon as it was answered. Heard is the time of each first `llm_delta` in ms
 * since its message was sent, at that moment.
 */
export async function startChats(node: Address, count: number): Promise<Going<number>> {
  const chats = await Promise.all(Array.from({ length: count }, () => Talker.open(node)));
  const heard: Timed<number>[] = [];
  const { work, stop } = again(chats, async (chat) => void heard.push(await firstDelta(chat)));
  return {
    heard,
    work,
    async stop() {
      await stop();
      for (const chat of chats) chat.close();
    },
  };
}

/**
 * `count` people who each have one research job in flight, in a new session every time. Heard is how each job ended: `ok`, or a
 * code. `allInFlight` resolves once each has had its first one started.
 */
export function startResearchers(
  node: Address,
  count: number,
): Going<string> & { readonly allInFlight: Promise<void> } {
  const questions = evidenceQuestions();
  const heard: Timed<string>[] = [];
  const started = new Set<number>();
  let next = 0;
  let tellAll = () => {};
  const allInFlight = new Promise<void>((resolve) => {
    tellAll = resolve;
  });
  if (count === 0) tellAll();
  const { work, stop } = again([...Array(count).keys()], async (who) => {
    const question = questions[next % questions.length] ?? "";
    next += 1;
    const onStarted = () => {
      if (started.add(who).size === count) tellAll();
    };
    const value = await research(node, question, onStarted);
    heard.push({ at: performance.now(), value });
  });
  return { heard, work, stop, allInFlight };
}

/** Each does its work again and again until all are stopped. */
function again<T>(all: readonly T[], work: (one: T) => Promise<void>): Pick<Going<never>, "work" | "stop"> {
  let isOver = false;
  const going = Promise.all(
    all.map(async (one) => {
      while (!isOver) await work(one);
    }),
  );
  // Whoever stops them hears of it.
  going.catch(() => {});
  return {
    work: going,
    async stop() {
      isOver = true;
      await going;
    },
  };
}

async function firstDelta(chat: Talker): Promise<Timed<number>> {
  const at = performance.now();
  let value: number | undefined;
  await chat.turn(CHAT, {
    hears: ({ kind }) => {
      if (kind === "llm_delta") value ??= performance.now() - at;
    },
  });
  if (value === undefined) throw new BenchFailed("a chat was answered without a word");
  return { at, value };
}

async function research(node: Address, question: string, onStarted: () => void): Promise<string> {
  const talker = await Talker.open(node);
  let outcome: string | undefined;
  let isCited = false;
  try {
    await talker.turn(question, {
      patienceMs: JOB_PATIENCE_MS,
      hears: ({ kind, data }) => {
        if (kind === "subagent_started") onStarted();
        if (kind === "subagent_finished") outcome = String(data["outcome"]);
        if (kind === "citations") isCited = data["bundle_id"] !== undefined;
      },
    });
  } finally {
    talker.close();
  }
  if (outcome === undefined) throw new BenchFailed(`nothing was researched for: ${question}`);
  return outcome === "ok" && !isCited ? "without_sources" : outcome;
}

/** One for each supplement that the index has some studies of. */
function evidenceQuestions(): readonly string[] {
  const { supplements, evidence } = loadDataset();
  const studied = evidence.flatMap((study) => study.supplements);
  return supplements
    .filter(({ id }) => studied.filter((one) => one === id).length > 1)
    .map(({ name }) => `What does the evidence say about ${name.replace(/ \(.*\)$/, "")}?`);
}
