import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { Failure } from "../../machines/failure.ts";
import { cancel, message } from "../commands.ts";
import { endingWords, type Status } from "../connection.ts";
import { runningTurn } from "../view.ts";
import { inputText } from "../words.ts";
import type { ChatSession } from "./chat-session.ts";
import type { Printer } from "./printer.ts";
import { harmless } from "./style.ts";

export type Terminal = { readonly input: Readable; readonly output: Writable; readonly isTty: boolean };

/** Talks until the user leaves (Ctrl-D, `/quit`, Ctrl-C while nothing runs). Gives the exit code. */
export function converse(session: ChatSession, printer: Printer, { input, output, isTty }: Terminal): Promise<number> {
  const lines = createInterface({ input, output, terminal: isTty, prompt: isTty ? "> " : "" });
  let lost = false;
  let answering = false;
  let leaving = false;
  /** Messages given and not yet answered, by their turn once it is known. */
  const open = new Set<string>();

  return new Promise((leave) => {
    const stop = session.listen({ view: look, status: watch });

    function look(): void {
      const view = session.view();
      const running = runningTurn(view) !== undefined;
      printer.show(view);
      if (answering && !running) lines.prompt();
      answering = running;
      for (const turn of view.turns) if (turn.ending !== undefined) open.delete(turn.turn_id);
      leaveWhenAnswered();
    }

    function say(text: string): void {
      const command = message(text);
      open.add(command.id);
      session.connection
        .send(command)
        // The two ids may be one and the same: out first, then in.
        .then(({ turn_id }) => void (open.delete(command.id) && open.add(turn_id)))
        .catch((error: unknown) => void (open.delete(command.id) && report(error)))
        .finally(look);
    }

    /** Input from a pipe ends before its answers came. */
    function leaveWhenAnswered(): void {
      if (leaving && open.size === 0) end(0);
    }

    function watch(status: Status): void {
      if (status.kind === "waiting" && !lost) printer.note("(connection lost, reconnecting)");
      if (status.kind === "open" && lost) printer.note("(connected again)");
      lost = status.kind === "waiting" || (lost && status.kind === "connecting");
      if (status.kind !== "ended" || status.reason === "closed") return;
      printer.note(endingWords(status.reason));
      end(1);
    }

    function end(code: number): void {
      stop();
      lines.close();
      session.connection.close();
      leave(code);
    }

    const report = (error: unknown) => printer.note(error instanceof Failure ? error.message : String(error));

    lines.on("line", (line) => {
      const text = line.trim();
      if (text === "/quit" || text === "/exit") end(0);
      else if (text === "") lines.prompt();
      else say(line);
    });
    lines.on("SIGINT", () => {
      const running = runningTurn(session.view());
      if (running) session.connection.send(cancel(running.turn_id)).catch(report);
      else end(0);
    });
    lines.on("close", () => {
      leaving = true;
      if (isTty) end(0);
      else leaveWhenAnswered();
    });

    const last = session.earlier.at(-1);
    printer.skip(session.earlier.map((turn) => turn.turn_id));
    if (last) printer.note(`(${last.n} earlier messages, the last: ${excerpt(inputText(last.input))})`);
    watch(session.connection.status);
    lines.prompt();
  });
}

const excerpt = (text: string): string => {
  const line = harmless(text).replaceAll(/\s+/g, " ");
  return line.length > 60 ? `${line.slice(0, 59)}…` : line;
};
