#!/usr/bin/env node
import { readFile } from "node:fs/promises";
import { Command, CommanderError, InvalidArgumentError } from "commander";
import { Failure, failureCode } from "../machines/failure.ts";
import { isUuid } from "../machines/ids.ts";
import { cancel, message } from "./commands.ts";
import { type ChatSession, openSession } from "./terminal/chat-session.ts";
import { converse } from "./terminal/interactive.ts";
import { login } from "./terminal/login.ts";
import { type AnswerOptions, addItem, answering, carryOut } from "./terminal/one-shot.ts";
import { type Printer, printer } from "./terminal/printer.ts";
import { answerCommands } from "./terminal/question.ts";
import { harmless, shellWord, style } from "./terminal/style.ts";
import { runningTurn } from "./view.ts";

type Options = AnswerOptions & {
  readonly url: string;
  readonly user: string;
  readonly session?: string;
  readonly new?: boolean;
  readonly cookieFile?: string;
  readonly add?: number;
};

const URL_UNLESS_SAID = "http://127.0.0.1:8787";
const USER_UNLESS_SAID = "dr-rivera";

const program = new Command("chat")
  .description(
    "Talk to Assist from a terminal. With a message: says it, prints the answer, exits. Without: a conversation.",
  )
  .argument("[message]", "what to say")
  .option("--url <url>", "address of the server", URL_UNLESS_SAID)
  .option("--user <id>", "user of the demo login", USER_UNLESS_SAID)
  .option("--session <id>", "continue this conversation")
  .option("--new", "start a new conversation (the default without --session)")
  .option("--cookie-file <path>", "file with the cookie header of a login at your own platform, instead of --user")
  .option("--answer <ids...>", "answer the open question by option ids or numbers; needs --session")
  .option("--accept", "accept the open proposal; needs --session")
  .option("--dismiss [reason]", "close the open question or proposal without deciding; needs --session")
  .option("--add <n>", "put item n of the newest product card into a draft plan; needs --session", itemNumber)
  .addHelpText("after", "\nExit codes: 0 answered, 1 failed or not reachable, 2 wrong usage.")
  .exitOverride();

async function main(): Promise<number> {
  const { text, options } = readArguments();
  const tty = process.stdout.isTTY === true && process.env["NO_COLOR"] === undefined;
  const talk = printer({
    out: (part) => void process.stdout.write(part),
    err: (part) => void process.stderr.write(part),
    style: style(tty && process.stderr.isTTY === true),
  });
  const cookie =
    options.cookieFile === undefined
      ? await login(options.url, options.user)
      : (await readFile(options.cookieFile, "utf8")).trim();
  const session = await openSession(options.url, cookie, options.session);
  try {
    if (options.add !== undefined) {
      process.stdout.write(`${harmless(await addItem(session, options.add))}\n`);
      return 0;
    }
    if (text === undefined && !isAnswering(options)) {
      const { stdin: input, stdout: output } = process;
      return await converse(session, talk, { input, output, isTty: input.isTTY === true });
    }
    cancelOnInterrupt(session);
    const command = text === undefined ? answering(session.pending, options) : message(text);
    const ending = await carryOut(session, talk, command).finally(() => showOpen(session, talk, options));
    return ending.kind === "completed" || ending.kind === "awaiting" ? 0 : 1;
  } finally {
    session.connection.close();
    process.stderr.write(`session ${session.id}\n`);
  }
}

/** What waits for an answer in the end, also after an answer that was not taken. */
function showOpen(session: ChatSession, talk: Printer, options: Options): void {
  const { pending } = session.view();
  if (pending === null) return;
  talk.ask(pending, ["answer it with:", ...answerCommands(chatCommand(options, session.id), pending)]);
}

function readArguments(): { text: string | undefined; options: Options } {
  program.parse();
  const options = program.opts<Options>();
  const url = options.url.replace(/\/+$/, "");
  if (!/^https?:/.test(url) || !URL.canParse(url)) program.error("error: --url takes an http:// or https:// address");
  if (options.session !== undefined && !isUuid(options.session))
    program.error("error: --session takes a session id (uuid)");
  if (options.session !== undefined && options.new) program.error("error: --session and --new exclude each other");
  const text = program.args[0];
  if (text?.trim() === "") program.error("error: the message is empty");
  const doings = [text, options.answer, options.accept, options.dismiss, options.add].filter(
    (one) => one !== undefined,
  );
  if (doings.length > 1) program.error("error: a message, --answer, --accept, --dismiss and --add exclude each other");
  if (text === undefined && doings.length > 0 && options.session === undefined)
    program.error("error: --answer, --accept, --dismiss and --add need --session");
  return { text, options: { ...options, url } };
}

const isAnswering = ({ answer, accept, dismiss }: Options): boolean =>
  answer !== undefined || accept !== undefined || dismiss !== undefined;

function itemNumber(text: string): number {
  if (!/^[1-9]\d{0,2}$/.test(text)) throw new InvalidArgumentError("expected the number of an item");
  return Number(text);
}

/** What to type to go on with this session as this user. */
function chatCommand({ url, user, cookieFile }: Options, session: string): string {
  const where = url === URL_UNLESS_SAID ? "" : ` --url ${shellWord(url)}`;
  const named = user === USER_UNLESS_SAID ? "" : ` --user ${shellWord(user)}`;
  const who = cookieFile === undefined ? named : ` --cookie-file ${shellWord(cookieFile)}`;
  return `npm run chat --${where}${who} --session ${session}`;
}

/** The first Ctrl-C stops the answer, the second one stops us. */
function cancelOnInterrupt(session: ChatSession): void {
  process.once("SIGINT", () => {
    const running = runningTurn(session.view());
    if (running === undefined) process.exit(130);
    process.once("SIGINT", () => process.exit(130));
    session.connection.send(cancel(running.turn_id)).catch(() => process.exit(130));
  });
}

try {
  process.exitCode = await main();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
  else {
    process.exitCode = 1;
    const words =
      error instanceof Failure
        ? error.message
        : `unexpected: ${error instanceof Error ? error.message : failureCode(error)}`;
    process.stderr.write(`${words}\n`);
  }
}
