import type {
  ActionCommand,
  CancelCommand,
  Command,
  MessageCommand,
  Resolution,
  ResolveCommand,
} from "../machines/protocol/commands.ts";
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

/** Answers the interaction that is open, in the revision that was shown. */
export const resolve = (
  open: { readonly id: string; readonly revision: number },
  resolution: Resolution,
  id = newId(),
): ResolveCommand => ({ type: "resolve", id, interaction_id: open.id, revision: open.revision, resolution });

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
