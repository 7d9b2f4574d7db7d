import { never } from "../../machines/failure.ts";
import type { SessionId } from "../../machines/ids.ts";
import type { Command } from "../../machines/protocol/commands.ts";
import type { ErrorCode, Limits, PlainSignal, Signal, SignalData } from "../../machines/protocol/signals.ts";
import type { SessionState, Turn } from "../../machines/protocol/turns.ts";
import { commandOf } from "../agui/ids.ts";
import { answeredBy, askedIn, entryOf, resolutionOf } from "../agui/interrupts.ts";
import type { RunEvents } from "../agui/run-events.ts";
import type { RunRequest } from "../agui/run-input.ts";
import type { Attachment, Caller, Conversations } from "../sessions/conversations.ts";
import type { AcceptedRun } from "./agui-run.ts";
import { decode } from "./decode.ts";
import { RunSink } from "./run-sink.ts";

type SessionCommand = Exclude<Command, { type: "ping" }>;
type Refusal = { readonly kind: "refused"; readonly code: ErrorCode; readonly message: string };
/** A run that was asked for in order and can't be: it is told as a run that failed. */
type Void = { readonly kind: "void"; readonly code: string; readonly message: string };
type Accepted = { readonly kind: "accepted"; readonly turnId: string; readonly isDuplicate: boolean };

export type Started = Refusal | { readonly kind: "started"; readonly run: AcceptedRun };

/** Makes a run's command durable and finds its turn. Rejects with `Refused`; attached only when it gives `started`. */
export async function startRun(
  conversations: Conversations,
  id: SessionId,
  asked: RunRequest,
  caller: Caller,
  limits: Limits,
): Promise<Started> {
  const sink = new RunSink();
  const attachment = await conversations.attach(id, caller, undefined, sink);
  try {
    const { resync, known } = resyncOf(sink.held());
    const verdict = await deliver(commandFor(asked, resync), attachment, limits);
    if (verdict.kind === "refused") {
      attachment.detach();
      return verdict;
    }
    const { threadId, runId, messages, ignored } = asked;
    const turn = verdict.kind === "accepted" ? verdict.turnId : "";
    const facts = { threadId, runId, sessionId: id, turnId: turn, messages, ignored };
    const begin = await beginning(verdict, () => search(conversations, id, caller, turn, resync, sink));
    return { kind: "started", run: { facts, caller, attachment, sink, known, begin } };
  } catch (error) {
    attachment.detach();
    throw error;
  }
}

/** An attachment without a cursor begins with the newest turns. */
function resyncOf(held: readonly Signal[]): { readonly resync: SignalData<"resync">; readonly known: number } {
  const at = held.findIndex(({ kind }) => kind === "resync");
  const signal = held[at];
  if (signal?.kind !== "resync") throw new TypeError("a session was joined without a resync");
  return { resync: signal.data, known: at + 1 };
}

function commandFor(run: RunRequest, resync: SignalData<"resync">): SessionCommand | Void {
  const id = commandOf(run.runId);
  const asked = askedIn(resync);
  const entry = entryOf(run.resume, asked);
  const isSuperseded = entry?.status === "cancelled" && run.endsWithUser;
  if (entry === undefined || isSuperseded) return { type: "message", id, ...run.say };
  const answered = answeredBy(entry, asked);
  if (answered === undefined) return VOID.not_found;
  const { interactionId, revision } = answered;
  return { type: "resolve", id, interaction_id: interactionId, revision, resolution: resolutionOf(entry) };
}

async function deliver(
  command: SessionCommand | Void,
  attachment: Attachment,
  limits: Limits,
): Promise<Refusal | Void | Accepted> {
  if ("kind" in command) return command;
  const frame = JSON.stringify(command);
  const decoded = decode(frame, Buffer.byteLength(frame), limits);
  if (decoded.kind === "refused") return { ...decoded.error, kind: "refused" };
  if (decoded.command.type === "ping") throw new TypeError("a run is no ping");
  return verdictOf(await attachment.deliver(decoded.command));
}

function verdictOf(receipt: PlainSignal): Refusal | Void | Accepted {
  switch (receipt.kind) {
    case "message_accepted":
      return { kind: "accepted", turnId: receipt.data.turn_id, isDuplicate: receipt.data.duplicate === true };
    case "interaction_receipt": {
      const { result, turn_id, duplicate, message } = receipt.data;
      if ((result === "accepted" || result === "duplicate") && turn_id !== undefined)
        return { kind: "accepted", turnId: turn_id, isDuplicate: duplicate === true || result === "duplicate" };
      return { ...VOID[result === "accepted" ? "duplicate" : result], ...(message !== undefined && { message }) };
    }
    case "error":
      return { kind: "refused", code: receipt.data.code, message: receipt.data.message };
    default:
      throw new TypeError(`a run was answered with ${receipt.kind}`);
  }
}

const voided = (code: string, message: string): Void => ({ kind: "void", code, message });
const VOID = {
  duplicate: voided("interaction_duplicate", "this question was answered in the same way before"),
  stale: voided("interaction_stale", "this question was answered, replaced or changed meanwhile"),
  expired: voided("interaction_expired", "this question has expired"),
  invalid: voided("interaction_invalid", "the answer does not fit the question"),
  not_found: voided("interaction_not_found", "no such question is open in this conversation"),
} as const;

type Whereabouts =
  | { readonly kind: "coming" }
  | { readonly kind: "withdrawn" }
  | { readonly kind: "there"; readonly turn: Turn; readonly state: SessionState };

async function beginning(
  verdict: Void | Accepted,
  lookFor: () => Promise<Whereabouts>,
): Promise<(events: RunEvents) => void> {
  if (verdict.kind === "void") return (events) => events.refuse(verdict.code, verdict.message);
  if (!verdict.isDuplicate) return (events) => events.begin();
  const found = await lookFor();
  switch (found.kind) {
    case "coming":
      return (events) => events.begin();
    case "there":
      return (events) => events.begin(found);
    case "withdrawn":
      return (events) => {
        events.begin();
        events.cancel();
      };
    default:
      return never(found);
  }
}

/** Where the turn of a run is that was posted before. */
async function search(
  conversations: Conversations,
  id: SessionId,
  caller: Caller,
  wanted: string,
  resync: SignalData<"resync">,
  sink: RunSink,
): Promise<Whereabouts> {
  const isIt = ({ turn_id }: { readonly turn_id: string }) => turn_id === wanted;
  const shown = resync.turns.find(isIt);
  if (shown !== undefined) return { kind: "there", turn: shown, state: resync.state };
  const hasBegun = () => sink.held().some((signal) => signal.kind === "turn_started" && isIt(signal.data));
  const newest = await conversations.page(id, caller);
  for (let page = newest; !hasBegun(); page = await conversations.page(id, caller, page.before)) {
    const turn = page.turns.find(isIt);
    if (turn?.outcome !== undefined) return { kind: "there", turn, state: newest.state };
    if (turn !== undefined || page.before === undefined) break;
  }
  // Awake, it may be about to begin the turn; when it falls asleep without, none comes.
  const isAsleep = newest.state.status === "hibernated" && !hasBegun();
  return isAsleep ? { kind: "withdrawn" } : { kind: "coming" };
}
