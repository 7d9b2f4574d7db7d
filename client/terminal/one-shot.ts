import { Failure } from "../../machines/failure.ts";
import { cards } from "../../machines/protocol/cards.ts";
import type { MessageCommand, ResolveCommand } from "../../machines/protocol/commands.ts";
import type { PendingInteraction } from "../../machines/protocol/interactions.ts";
import { readCard } from "../card.ts";
import { accept, addToPlan, answer, dismiss } from "../commands.ts";
import { endingWords, type Status } from "../connection.ts";
import { ConnectionEnded } from "../errors.ts";
import type { Ending, View } from "../view.ts";
import { actionProblem, receiptProblem } from "../words.ts";
import type { ChatSession } from "./chat-session.ts";
import type { Printer } from "./printer.ts";
import { optionIds } from "./question.ts";

/** How long one message waits for a server that went away. */
const PATIENCE_MS = 30_000;

/** What was asked for on the command line can't be done in this conversation. */
export class NotDone extends Failure {
  readonly code = "not_done";
  readonly retryable = false;
}

/** Says or answers one thing, prints what follows, and gives how the turn ended. Rejects when the server stays away. */
export async function carryOut(
  session: ChatSession,
  printer: Printer,
  command: MessageCommand | ResolveCommand,
): Promise<Ending> {
  const { promise, resolve, reject } = settling<Ending>();
  let turn: string | undefined;
  let patience: NodeJS.Timeout | undefined;

  function look(view: View): void {
    if (turn === undefined) return;
    printer.show(view, turn);
    const ending = view.turns.find((one) => one.turn_id === turn)?.ending;
    // What waits for an answer comes with the state, right after the turn's end.
    const isComplete = ending?.kind !== "awaiting" || view.pending !== null || view.status !== "turning";
    if (ending !== undefined && isComplete) resolve(ending);
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
    const receipt = await Promise.race([session.connection.send(command), promise]);
    if ("result" in receipt) {
      const problem = receiptProblem(receipt);
      if (problem !== undefined) throw new NotDone(problem);
    }
    if ("turn_id" in receipt && receipt.turn_id !== undefined) {
      turn = receipt.turn_id;
      if ("queued" in receipt && receipt.queued) printer.note("(another answer is running; this message waits)");
      look(session.view());
    } else if ("result" in receipt) return { kind: "completed" };
    return await promise;
  } finally {
    clearTimeout(patience);
    stop();
  }
}

export type AnswerOptions = {
  readonly answer?: readonly string[];
  readonly accept?: boolean;
  /** `true` when no reason was given. */
  readonly dismiss?: string | true;
};

/** The command that answers what waits in this conversation. Throws `NotDone` when nothing does. */
export function answering(pending: PendingInteraction | null, options: AnswerOptions): ResolveCommand {
  if (pending === null) throw new NotDone("nothing waits for an answer in this conversation");
  if (options.answer !== undefined) return answer(pending, optionIds(pending.options, options.answer));
  if (options.accept) return accept(pending);
  return dismiss(pending, options.dismiss === true ? undefined : options.dismiss);
}

const planNamed = cards.treatment_plan.pick({ plan_id: true, title: true });

/** Puts item `n` of the newest product card into a draft plan; gives what a person reads. Throws `NotDone`. */
export async function addItem(session: ChatSession, n: number): Promise<string> {
  const blocks = session.earlier.flatMap((turn) => turn.blocks);
  const block = blocks.findLast(({ type }) => type === "recommend_supplements");
  const card = block && readCard(block);
  const item = card?.kind === "recommend_supplements" ? card.data.supplements[n - 1] : undefined;
  if (block === undefined || item === undefined)
    throw new NotDone(`the newest product card of this conversation has no item ${n}`);
  const { product_id, variant_id, dosing } = item;
  const receipt = await session.connection.send(addToPlan(block.block_id, { product_id, variant_id, dosing }));
  const problem = actionProblem(receipt);
  if (problem !== undefined) throw new NotDone(problem);
  const plan = planNamed.safeParse(receipt.plan);
  const where = plan.success ? `the draft "${plan.data.title ?? plan.data.plan_id}"` : "a draft plan";
  return `${item.name} was added to ${where}.`;
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
