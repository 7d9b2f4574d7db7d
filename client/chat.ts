#!/usr/bin/env node
import { readFile } from "node:fs/promises";
import { Command, CommanderError } from "commander";
import { Failure, failureCode } from "../machines/failure.ts";
import { isUuid } from "../machines/ids.ts";
import { cancel } from "./commands.ts";
import { type ChatSession, openSession } from "./terminal/chat-session.ts";
import { converse } from "./terminal/interactive.ts";
import { login } from "./terminal/login.ts";
import { sayOnce } from "./terminal/one-shot.ts";
import { printer } from "./terminal/printer.ts";
import { style } from "./terminal/style.ts";
import { runningTurn } from "./view.ts";

type Options = { url: string; user: string; session?: string; new?: boolean; cookieFile?: string };

const program = new Command("chat")
  .description(
    "Talk to Assist from a terminal. With a message: says it, prints the answer, exits. Without: a conversation.",
  )
  .argument("[message]", "what to say")
  .option("--url <url>", "address of the server", "http://127.0.0.1:8787")
  .option("--user <id>", "user of the demo login", "dr-rivera")
  .option("--session <id>", "continue this conversation")
  .option("--new", "start a new conversation (the default without --session)")
  .option("--cookie-file <path>", "file with the cookie header of a login at your own platform, instead of --user")
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
    if (text === undefined) {
      const { stdin: input, stdout: output } = process;
      return await converse(session, talk, { input, output, isTty: input.isTTY === true });
    }
    cancelOnInterrupt(session);
    const ending = await sayOnce(session, talk, text);
    return ending.kind === "completed" || ending.kind === "awaiting" ? 0 : 1;
  } finally {
    session.connection.close();
    process.stderr.write(`session ${session.id}\n`);
  }
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
  return { text, options: { ...options, url } };
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
