import { randomUUID } from "node:crypto";
import type { InteractionEntry } from "../../machines/conversation/entries.ts";
import { callId, commandId, interactionId, type SessionId, type TurnId } from "../../machines/ids.ts";
import type { ActionCommand } from "../../machines/protocol/commands.ts";
import type { PendingInteraction } from "../../machines/protocol/interactions.ts";
import type { ActionDone } from "../../machines/protocol/turns.ts";
import type { AdmitInput, Store } from "../store.ts";
import { admitted, type StoreScene, settlement } from "./store-scene.ts";

/** What a turn asks. */
export function question(turn: TurnId, changes: Partial<PendingInteraction> = {}): InteractionEntry {
  const id = changes.id ?? randomUUID();
  return {
    kind: "interaction",
    turnId: turn,
    interactionId: interactionId(id),
    callId: callId("call-1"),
    pending: { id, revision: 1, kind: "single_choice", prompt: "Which one?", schema: { type: "array" }, ...changes },
  };
}

export const settlesAsking = (asks: InteractionEntry, n = 1) =>
  settlement(asks.turnId, n, { outcome: "awaiting", status: "awaiting", asks });

/** A session that waits for the answer to a question; the node of `fence` owns it. */
export async function asks(store: Store, id: SessionId, changes: Partial<PendingInteraction> = {}) {
  const { fence, turnId } = await admitted(store, id);
  const asked = question(turnId, changes);
  const { isOpen } = await store.histories.settle(fence, settlesAsking(asked));
  if (!isOpen) throw new Error("it is not open");
  return { fence, turnId, asked };
}

/** The changes of `admission` that answer it. */
export function answers(
  { interactionId, pending }: InteractionEntry,
  changes: Partial<NonNullable<AdmitInput["resolves"]>> = {},
) {
  const resolution = { kind: "answered" as const, selected: ["a"] };
  const resolves = { interactionId, revision: pending.revision, status: "answered" as const, resolution, ...changes };
  return { kind: "resolve" as const, resolves };
}

export function press(changes: Partial<Omit<ActionCommand, "item">> & { variant?: string } = {}): ActionCommand {
  const { variant = "v1", ...rest } = changes;
  return {
    type: "action",
    id: commandId(randomUUID()),
    block_id: "0a000000-0000-4000-8000-000000000000",
    action: "add_to_plan",
    item: { product_id: "p1", variant_id: variant, dosing: "1 a day" },
    ...rest,
  };
}

/** What the session row says of interactions. */
export async function standing({ sql }: StoreScene, id: SessionId) {
  const [row] = await sql`
    select status, unsettled, open_interaction as open, open_revision as revision, open_until as until
    from sessions where id = ${id}`;
  return row;
}
/** Of a session where nothing is open. */
export const none = { open: null, revision: null, until: null };

/** What clients are shown of it once it is done. */
export const pressed = ({ block_id, action, item }: ActionCommand): ActionDone => ({
  block_id,
  action,
  item,
  result: `added ${item.variant_id}`,
});

/**
 * Holds the session's row until both wait for it, `first` before `second`: what `second` saw of the tables is older than
 * what `first` does. One that does not wait is not waited for.
 */
export async function inOrder<A, B>(
  { sql }: StoreScene,
  id: SessionId,
  first: () => Promise<A>,
  second: () => Promise<B>,
): Promise<readonly [PromiseSettledResult<A>, PromiseSettledResult<B>]> {
  // The driver never reserves a connection of a pool that has none open yet.
  await sql`select`;
  const blocker = await sql.reserve();
  let over = 0;
  const started = <T>(work: Promise<T>): Promise<T> => work.finally(() => over++);
  const waiting = async (count: number) => {
    for (;;) {
      const [row] = await sql<{ waiting: number }[]>`
        select count(*)::int as waiting from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`;
      if (over + (row?.waiting ?? 0) >= count) return;
    }
  };
  try {
    await blocker`begin`;
    await blocker`select from sessions where id = ${id} for update`;
    const one = started(first());
    const both = [one, waiting(1).then(() => started(second()))] as const;
    await waiting(2);
    await blocker`commit`;
    return await Promise.allSettled(both);
  } finally {
    blocker.release();
  }
}
