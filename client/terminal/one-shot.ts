import { message } from "../commands.ts";
import { endingWords, type Status } from "../connection.ts";
import { ConnectionEnded } from "../errors.ts";
import type { Ending, View } from "../view.ts";
import type { ChatSession } from "./chat-session.ts";
import type { Printer } from "./printer.ts";

/** How long one message waits for a server that went away. */
const PATIENCE_MS = 30_000;

/** Says one thing, prints the answer as it comes, and gives how the turn ended. Rejects when the server stays away. */
export async function sayOnce(session: ChatSession, printer: Printer, text: string): Promise<Ending> {
  const { promise, resolve, reject } = settling<Ending>();
  let turn: string | undefined;
  let patience: NodeJS.Timeout | undefined;

  function look(view: View): void {
    if (turn === undefined) return;
    printer.show(view, turn);
    const ending = view.turns.find((one) => one.turn_id === turn)?.ending;
    if (ending !== undefined) resolve(ending);
  }

  function watch(status: Status): void {
    if (status.kind === "ended") reject(new ConnectionEnded(endingWords(status.reason)));
    if (status.kind === "waiting" && patience === undefined) {
      printer.note("(connection lost, reconnecting)");
      const away = `the server stayed away for ${PATIENCE_MS / 1000} s; the answer goes on without us, see --session`;
      patience = setTimeout(() => reject(new ConnectionEnded(away)), PATIENCE_MS);
    }
    if (status.kind === "open") {
      clearTimeout(patience);
      patience = undefined;
    }
  }

  const stop = session.listen({ view: look, status: watch });
  try {
    watch(session.connection.status);
    const receipt = await Promise.race([session.connection.send(message(text)), promise]);
    if ("turn_id" in receipt) {
      turn = receipt.turn_id;
      if (receipt.queued) printer.note("(another answer is running; this message waits)");
      look(session.view());
    }
    return await promise;
  } finally {
    clearTimeout(patience);
    stop();
  }
}

function settling<T>() {
  let resolve: (value: T) => void = () => {};
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<T>((settle, refuse) => {
    resolve = settle;
    reject = refuse;
  });
  promise.catch(() => {});
  return { promise, resolve, reject };
}
