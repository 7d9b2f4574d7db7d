import { NO_CONTEXT, readContext } from "./context.ts";
import type { Conversation, File, Message, UserPart } from "./conversation.ts";
import { outcomeOf } from "./outcome.ts";
import type { Call } from "./reply.ts";
import type { Done, Exchange, Scene } from "./scene.ts";
import { type Closing, readEntryPoint, readTold, type Told } from "./told.ts";

/** Cuts a conversation into exchanges: a new one begins with each text of the user's own and with each decision. */
export function readScene({ system, tools, messages }: Conversation): Scene {
  const reader = new Reader();
  for (const message of messages) reader.read(message);
  const now = reader.exchanges.at(-1) ?? draft({ question: "", context: NO_CONTEXT });
  return {
    tools: new Set(tools),
    skills: new Set(skillsIn(system)),
    system,
    past: reader.exchanges.slice(0, -1),
    now,
    follows: null,
    notes: reader.notes,
    given: reader.given,
  };
}

type Growing = { files: readonly File[]; told: readonly Told[]; readonly done: Done[]; answer: string };
type Draft = Omit<Exchange, keyof Growing> & Growing;
type Opening = Pick<Exchange, "question" | "context"> & Partial<Pick<Exchange, "opened" | "answers" | "told">>;

const draft = (opening: Opening): Draft => ({
  ...{ opened: null, answers: [], told: [], files: [], done: [], answer: "" },
  ...opening,
});

class Reader {
  readonly exchanges: Draft[] = [];
  readonly notes: string[] = [];
  readonly given = new Set<string>();
  #open: readonly Call[] = [];
  #context = NO_CONTEXT;
  /** Reports that no exchange has taken up yet. */
  #told: readonly Told[] = [];

  read(message: Message): void {
    const current = this.exchanges.at(-1);
    if (message.from === "model") {
      if (current !== undefined && message.text !== "") current.answer = message.text;
      this.#open = message.calls;
      return;
    }
    const results = message.parts.filter((part) => part.kind === "result");
    for (const [index, result] of results.entries()) {
      const call = this.#open[index] ?? { tool: result.tool, args: {} };
      current?.done.push({ ...call, outcome: outcomeOf(result.output, result.error) });
    }
    this.#open = [];
    this.#readWords(message.parts);
  }

  #readWords(parts: readonly UserPart[]): void {
    const files = parts.flatMap(filesIn);
    const texts = parts.flatMap((part) =>
      part.kind === "text" && markedFile(part.text) === undefined ? [part.text.trim()] : [],
    );
    const known = this.exchanges.length;
    for (const [index, text] of texts.entries()) {
      // The context stands before the user's words and files; the same letters as the last text are the user's words.
      if (isBlock("context", text) && (index < texts.length - 1 || files.length > 0)) this.#context = readContext(text);
      else if (isBlock("[a-z_-]*(?:summary|history)", text)) this.notes.push(blockText(text));
      else if (isBlock("skill", text)) this.given.add(/name="([\w-]+)"/.exec(text)?.[1] ?? "");
      else this.#readText(text, this.exchanges.length > known);
    }
    if (files.length === 0) return;
    // A file may come without a word.
    if (this.exchanges.length === known) this.#begin({ question: "" });
    const last = this.exchanges.at(-1);
    if (last !== undefined) last.files = files;
  }

  /** `opened`: this turn of the user's has begun an exchange already. */
  #readText(text: string, opened: boolean): void {
    const told = readTold(text);
    const last = opened ? this.exchanges.at(-1) : undefined;
    if (told === undefined) this.#begin({ question: readEntryPoint(text)?.replace(/[_-]+/g, " ") ?? text });
    else if (isDecision(told)) this.#begin(this.#decided(told));
    // What the system did about a decision stands right behind it.
    else if (last?.opened != null) last.told = [...last.told, told];
    else this.#told = [...this.#told, told];
  }

  #begin(opening: Omit<Opening, "context" | "told">): void {
    this.exchanges.push(draft({ ...opening, context: this.#context, told: this.#told }));
    this.#told = [];
  }

  /** An answer goes on with the request that it was asked for. */
  #decided(closing: Closing): Omit<Opening, "context" | "told"> {
    const { end, prompt, asked } = closing;
    if (end.how !== "chosen") return { question: end.how === "dismissed" ? end.reason : "", opened: closing };
    const asker = this.exchanges.findLast(({ done }) =>
      done.some(({ tool, args, outcome }) =>
        // The plan builder asks in its own words: they stand in no call.
        tool === "build_plan" ? asked === "single_choice" && outcome.kind === "text" : asksWith(tool, args, prompt),
      ),
    );
    const answer = { prompt, asked, chosen: end.chosen, added: end.added };
    return { question: asker?.question ?? "", opened: closing, answers: [...(asker?.answers ?? []), answer] };
  }
}

const asksWith = (tool: string, args: Call["args"], prompt: string): boolean =>
  tool === "ask_question" && args["question"] === prompt;

const isDecision = (told: Told): told is Closing =>
  told.kind === "closing" && told.end.how !== "expired" && told.end.how !== "withdrawn";

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
