import { canonical } from "../canonical.ts";
import { type Context, NO_CONTEXT, readContext } from "./context.ts";
import type { Conversation, File, UserPart } from "./conversation.ts";
import { type Outcome, outcomeOf } from "./outcome.ts";
import type { Call } from "./reply.ts";

export type Done = Call & { readonly outcome: Outcome };

/** One question of the user with what followed it. */
export type Exchange = {
  readonly question: string;
  readonly context: Context;
  readonly files: readonly File[];
  readonly done: readonly Done[];
  readonly answer: string;
};

/** What the planner looks at: the request cut into exchanges, the last of which is open. */
export type Scene = {
  readonly tools: ReadonlySet<string>;
  readonly skills: ReadonlySet<string>;
  readonly system: string;
  readonly past: readonly Exchange[];
  readonly now: Exchange;
  /** The earlier exchange whose intent the open question takes up ("and with aspirin?"). */
  readonly follows: Exchange | null;
  /** Marked blocks in user turns that are not the user's own words, such as a summary of older turns. */
  readonly notes: readonly string[];
};

type Draft = { question: string; context: Context; files: readonly File[]; done: Done[]; answer: string };

/** Cuts a conversation into exchanges: a new one begins with each text of the user's own. */
export function readScene({ system, tools, messages }: Conversation): Scene {
  const exchanges: Draft[] = [];
  const notes: string[] = [];
  let open: readonly Call[] = [];
  let context = NO_CONTEXT;
  for (const message of messages) {
    const current = exchanges.at(-1);
    if (message.from === "model") {
      if (current !== undefined) current.answer = message.text === "" ? current.answer : message.text;
      open = message.calls;
      continue;
    }
    const results = message.parts.filter((part) => part.kind === "result");
    for (const [index, result] of results.entries()) {
      const call = open[index] ?? { tool: result.tool, args: {} };
      current?.done.push({ ...call, outcome: outcomeOf(result.output, result.error) });
    }
    open = [];
    const files = message.parts.flatMap(filesIn);
    const texts = message.parts.flatMap((part) =>
      part.kind === "text" && markedFile(part.text) === undefined ? [part.text.trim()] : [],
    );
    const known = exchanges.length;
    for (const [index, text] of texts.entries()) {
      // The context stands before the user's words and files; the same letters as the last text are the user's words.
      if (isBlock("context", text) && (index < texts.length - 1 || files.length > 0)) context = readContext(text);
      else if (isBlock("[a-z_-]*(?:summary|history)", text)) notes.push(blockText(text));
      else exchanges.push({ question: text, context, files: [], done: [], answer: "" });
    }
    if (files.length === 0) continue;
    // A file may come without a word.
    if (exchanges.length === known) exchanges.push({ question: "", context, files, done: [], answer: "" });
    else exchanges.splice(-1, 1, { ...(exchanges.at(-1) as Draft), files });
  }
  const now = exchanges.at(-1) ?? { question: "", context, files: [], done: [], answer: "" };
  return {
    tools: new Set(tools),
    skills: new Set(skillsIn(system)),
    system,
    past: exchanges.slice(0, -1),
    now,
    follows: null,
    notes,
  };
}

/** Finished calls of earlier exchanges that the request still shows, newest first. */
export function pastCalls(scene: Scene): readonly Done[] {
  return scene.past.flatMap(({ done }) => done).reverse();
}

/** The outcome of exactly this call in the open exchange, if it was made. */
export function outcomeNow(scene: Scene, call: Call): Outcome | undefined {
  const key = canonical([call.tool, call.args]);
  return scene.now.done.findLast((done) => canonical([done.tool, done.args]) === key)?.outcome;
}

function filesIn(part: UserPart): readonly File[] {
  if (part.kind === "file") return [part];
  return part.kind === "text" ? [markedFile(part.text) ?? []].flat() : [];
}

/** What the agent writes where a file's bytes are not sent. */
function markedFile(text: string): File | undefined {
  const [, mime, bytes] = /^\[Attachment: ([\w.+-]+\/[\w.+-]+), (\d+) bytes\]$/.exec(text.trim()) ?? [];
  return mime === undefined ? undefined : { mime, bytes: Number(bytes), sent: false };
}

const isBlock = (name: string, text: string): boolean => new RegExp(`^<(${name})[\\s>][\\s\\S]*</\\1>$`).test(text);

const blockText = (text: string): string =>
  text
    .replace(/<[^>]*>/g, " ")
    .replace(/\s+/g, " ")
    .trim();

function skillsIn(system: string): readonly string[] {
  const block = /<skills>([\s\S]*?)<\/skills>/.exec(system)?.[1] ?? "";
  return [...block.matchAll(/^\s*-\s*([\w-]+)\s*:/gm)].flatMap(([, name]) => (name === undefined ? [] : [name]));
}
