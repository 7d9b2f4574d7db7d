import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { Failure } from "../../machines/failure.ts";
import type { MessageCommand, ResolveCommand } from "../../machines/protocol/commands.ts";
import { cancel, message, resolve } from "../commands.ts";
import { endingWords, type Status } from "../connection.ts";
import { runningTurn } from "../view.ts";
import { budgetText, inputText, receiptProblem } from "../words.ts";
import type { ChatSession } from "./chat-session.ts";
import type { Printer } from "./printer.ts";
import { type Draft, draftOf, readTyped, typingHint } from "./question.ts";
import { oneLine } from "./style.ts";

export type Terminal = { readonly input: Readable; readonly output: Writable; readonly isTty: boolean };

const HELP = "/budget shows how full the model's context is · /quit leaves · Ctrl-C stops an answer, then leaves";

/** Talks until the user leaves (Ctrl-D, `/quit`, Ctrl-C while nothing runs). Gives the exit code. */
export function converse(session: ChatSession, printer: Printer, { input, output, isTty }: Terminal): Promise<number> {
  const lines = createInterface({ input, output, terminal: isTty, prompt: isTty ? "> " : "" });
  let lost = false;
  let busy = false;
  let leaving = false;
  let stopping = false;
  /** Commands given and not yet answered, by their turn once it is known. */
  const open = new Set<string>();
  /** Lines of a pipe that wait until the line before them was answered. */
  const held: string[] = [];
  let shown = "";
  let draft: Draft = [];
  /** Interactions whose end was noticed. */
  const over = new Set<string>();

  return new Promise((leave) => {
    const stop = session.listen({ view: look, status: watch });

    function look(): void {
      const view = session.view();
      const running = runningTurn(view) !== undefined;
      printer.show(view);
      if (!running) stopping = false;
      for (const turn of view.turns) if (turn.ending !== undefined) open.delete(turn.turn_id);
      tellExpired();
      const asked = !running && ask();
      if ((busy && !running) || asked) lines.prompt();
      busy = running;
      goOn();
    }

    /** Shows what waits for an answer, once for each revision. Tells whether it did. */
    function ask(): boolean {
      const { pending } = session.view();
      const key = pending === null ? "" : `${pending.id} ${pending.revision}`;
      const isNews = pending !== null && key !== shown;
      shown = key;
      if (!isNews) return false;
      draft = draftOf(pending);
      printer.ask(pending, [`  (${typingHint(pending)})`]);
      return true;
    }

    function tellExpired(): void {
      const { resolved } = session.view();
      for (const { interaction_id, revision, by } of resolved) {
        const key = `${interaction_id} ${revision}`;
        if (by === "expired" && !over.has(key)) printer.note("(the time to answer is over)");
        over.add(key);
      }
    }

    /** A pipe is read line by line, each once what came before has ended: what it means depends on that. */
    function goOn(): void {
      const isQuiet = open.size === 0 && !busy && session.view().status !== "turning";
      const isReady = session.earlier.length === 0 || session.view().seq !== undefined;
      if (!isQuiet || !isReady) return;
      const next = held.shift();
      if (next !== undefined) hear(next);
      else if (leaving) end(0);
    }

    function give(command: MessageCommand | ResolveCommand): void {
      open.add(command.id);
      session.connection
        .send(command)
        .then((receipt) => {
          // The two ids may be one and the same: out first, then in.
          open.delete(command.id);
          const problem = "result" in receipt ? receiptProblem(receipt) : undefined;
          if (problem !== undefined) printer.note(problem);
          else if (receipt.turn_id !== undefined) open.add(receipt.turn_id);
        })
        .catch((error: unknown) => void (open.delete(command.id) && report(error)))
        .finally(look);
    }

    function hear(line: string): void {
      switch (line.trim()) {
        case "/quit":
        case "/exit":
          end(0);
          break;
        case "/budget":
          promptAfter(budgetText(session.view().budget));
          break;
        case "/help":
          promptAfter(HELP);
          break;
        case "":
          promptAfter();
          break;
        default:
          speak(line);
      }
    }

    function promptAfter(note?: string): void {
      if (note !== undefined) printer.note(note);
      lines.prompt();
      goOn();
    }

    function speak(line: string): void {
      const { pending } = session.view();
      const typed = pending === null ? undefined : readTyped(pending, draft, line);
      if (pending === null || typed === undefined || typed.kind === "message") give(message(line));
      else if (typed.kind === "resolve") give(resolve(pending, typed.resolution));
      else if (typed.kind === "unclear") promptAfter(`(${typed.why})`);
      else {
        draft = typed.draft;
        printer.redraw(pending, draft);
        promptAfter();
      }
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
      // First of all: closing the input ends once more, with another code.
      leave(code);
      stop();
      lines.close();
      session.connection.close();
    }

    const report = (error: unknown) => printer.note(error instanceof Failure ? error.message : String(error));

    lines.on("line", (line) => {
      if (isTty) return hear(line);
      held.push(line);
      goOn();
    });
    lines.on("SIGINT", () => {
      const running = runningTurn(session.view());
      if (running === undefined || stopping) return end(running === undefined ? 0 : 130);
      stopping = true;
      printer.note("(stopping; Ctrl-C again leaves)");
      session.connection.send(cancel(running.turn_id)).catch(report);
    });
    lines.on("close", () => {
      leaving = true;
      if (isTty) end(0);
      else goOn();
    });

    const last = session.earlier.at(-1);
    printer.skip(session.earlier.map((turn) => turn.turn_id));
    if (last) printer.note(`(${last.n} earlier messages, the last: ${excerpt(inputText(last.input))})`);
    watch(session.connection.status);
    lines.prompt();
  });
}

const excerpt = (text: string): string => {
  const line = oneLine(text);
  return line.length > 60 ? `${line.slice(0, 59)}…` : line;
};
