import type { Fragment, Sql } from "postgres";
import { failureCode } from "../machines/failure.ts";
import type { InteractionId, NodeId, SessionId, UserId } from "../machines/ids.ts";
import { leaseEnd } from "./fence.ts";
import { places } from "./sealed.ts";
import type { SessionKeys } from "./session-keys.ts";
import { type Frozen, SEQ_RESERVE, type Taken } from "./store.ts";

/** Asleep in order: the stored next number is exact. Else everything up to the reservation may have been sent. */
export const firstUnused = (sql: Sql): Fragment =>
  sql`case when sessions.slept_epoch = sessions.epoch then sessions.next_seq else sessions.seq_reserved + 1 end`;

/** The assignments of a take-over. */
export function takes(sql: Sql, node: NodeId, leaseMs: number): Fragment {
  return sql`
    node = ${node}, epoch = sessions.epoch + 1, until = ${leaseEnd(sql, leaseMs)},
    next_seq = ${firstUnused(sql)}, seq_reserved = greatest(sessions.seq_reserved, ${firstUnused(sql)} + ${SEQ_RESERVE})`;
}

/** What a take-over returns. */
export function takenColumns(sql: Sql): Fragment {
  return sql`
    sessions.owner, sessions.agent, sessions.epoch, sessions.next_seq, sessions.anchor, sessions.turns, sessions.unsettled,
    sessions.slept_epoch = sessions.epoch - 1 as clean,
    sessions.open_interaction, sessions.unrecorded_actions > 0 as untold,
    sessions.machine, sessions.version, sessions.snapshot, sessions.data_key`;
}

export type TakenRow = {
  readonly owner: string;
  readonly agent: string;
  readonly epoch: string;
  readonly next_seq: string;
  readonly anchor: number;
  readonly turns: number;
  readonly unsettled: number;
  readonly clean: boolean;
  readonly open_interaction: InteractionId | null;
  readonly untold: boolean;
  readonly machine: string | null;
  readonly version: number | null;
  readonly snapshot: Buffer | null;
  readonly data_key: Buffer;
};

/**
 * A snapshot that can't be opened is reported in the result, never thrown: the entries decide. It is opened when it is
 * asked for: a node that put the session to sleep itself has no need of it.
 */
export function taken(keys: SessionKeys, sessionId: SessionId, node: NodeId, row: TakenRow): Taken {
  return {
    fence: { sessionId, node, epoch: Number(row.epoch) },
    owner: row.owner as UserId,
    agent: row.agent,
    get frozen() {
      return frozen(keys, sessionId, row);
    },
    nextSeq: Number(row.next_seq),
    clean: row.clean,
    anchor: row.anchor,
    turns: row.turns,
    unsettled: row.unsettled,
    openInteraction: row.open_interaction ?? undefined,
    unrecordedActions: row.untold,
  };
}

function frozen(keys: SessionKeys, id: SessionId, row: TakenRow): Frozen | { readonly broken: string } | undefined {
  if (row.snapshot === null) return undefined;
  if (row.machine === null || row.version === null) return { broken: "unnamed" };
  try {
    const state = keys.open(id, row.data_key).open(places.snapshot(id), row.snapshot);
    return { machine: row.machine, version: row.version, state };
  } catch (error) {
    return { broken: failureCode(error) };
  }
}
