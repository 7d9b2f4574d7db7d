import type {
  ActionCommand,
  CancelCommand,
  Command,
  MessageCommand,
  Resolution,
  ResolveCommand,
} from "../machines/protocol/commands.ts";
import type { ProposalEdits } from "../machines/protocol/interactions.ts";
import type { PlainSignal } from "../machines/protocol/signals.ts";

/** A random (version 4) uuid. Unlike `crypto.randomUUID`, it also works on pages served without TLS. */
export function newId(
  fill: (bytes: Uint8Array<ArrayBuffer>) => void = (bytes) => crypto.getRandomValues(bytes),
): string {
  const bytes = new Uint8Array(16);
  fill(bytes);
  const hex = [...bytes].map((byte, at) => {
    const marked = at === 6 ? (byte & 0x0f) | 0x40 : at === 8 ? (byte & 0x3f) | 0x80 : byte;
    return marked.toString(16).padStart(2, "0");
  });
  return [hex.slice(0, 4), hex.slice(4, 6), hex.slice(6, 8), hex.slice(8, 10), hex.slice(10)]
    .map((part) => part.join(""))
    .join("-");
}

type Extras = Pick<MessageCommand, "context" | "attachments" | "entry_point">;

/** Says something. Blank text is allowed only with an entry point or attachments. */
export const message = (text: string, extras: Extras = {}, id = newId()): MessageCommand => ({
  type: "message",
  id,
  text,
  ...extras,
});

/** An interaction in the revision that was shown: `view.pending`, or the two fields of a card. */
export type Shown = { readonly id: string; readonly revision: number };

/** Ends an interaction. `answer`, `accept` and `dismiss` make the resolution too. */
export const resolve = (open: Shown, resolution: Resolution, id = newId()): ResolveCommand => ({
  type: "resolve",
  id,
  interaction_id: open.id,
  revision: open.revision,
  resolution,
});

/** Answers a question by the ids of its options (of patients, for a picker), with words of the user's own if they gave any. */
export const answer = (pending: Shown, selected: readonly string[], text?: string, id = newId()): ResolveCommand =>
  resolve(pending, { kind: "answered", selected: [...selected], ...(text !== undefined && { text }) }, id);

/** Accepts a proposal. `edits.items` is the whole list: an item that is left out is dropped. */
export const accept = (pending: Shown, edits?: ProposalEdits, id = newId()): ResolveCommand =>
  resolve(pending, { kind: "accepted", ...(edits !== undefined && { edits }) }, id);

/** Closes a question or a proposal without deciding anything. */
export const dismiss = (pending: Shown, reason?: string, id = newId()): ResolveCommand =>
  resolve(pending, { kind: "dismissed", ...(reason !== undefined && { reason }) }, id);

/** Puts one recommended item of a card into a draft plan. */
export const addToPlan = (
  blockId: string,
  item: ActionCommand["item"],
  planId?: string,
  id = newId(),
): ActionCommand => ({
  type: "action",
  id,
  block_id: blockId,
  action: "add_to_plan",
  item,
  ...(planId !== undefined && { plan_id: planId }),
});

/** Stops the turn that runs, or takes back the one named. */
export const cancel = (turnId?: string, id = newId()): CancelCommand => ({
  type: "cancel",
  id,
  ...(turnId !== undefined && { turn_id: turnId }),
});

/** Every command but `ping`, which is the connection's own. */
export type Sendable = Exclude<Command, { type: "ping" }>;

type ReceiptKinds = {
  message: "message_accepted";
  resolve: "interaction_receipt";
  action: "action_receipt";
  cancel: "cancel_receipt";
};

/** The answer to a command. */
export type ReceiptOf<C extends Sendable> = Extract<PlainSignal, { kind: ReceiptKinds[C["type"]] }>["data"];
