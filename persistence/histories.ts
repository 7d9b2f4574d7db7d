import { Failure } from "../machines/failure.ts";
import type { CommandId, SessionId, TurnId } from "../machines/ids.ts";
import { asking, points } from "./asking.ts";
import { arePlacedEntries, batchWrites, tells, type Written, written } from "./batches.ts";
import type { SessionCipher } from "./cipher/session-cipher.ts";
import { asked, isTaken } from "./database-error.ts";
import { type Database, held } from "./fence.ts";
import { noGrant } from "./grants.ts";
import { opened, places } from "./sealed.ts";
import {
  type Batch,
  type Fence,
  type Histories,
  OwnershipLost,
  type Settled,
  type Settlement,
  type StoredIntent,
} from "./store.ts";

/** The turn has settled, was withdrawn or was never admitted: nothing was written. */
export class TurnNotOpen extends Failure {
  readonly code = "turn_not_open";
  readonly retryable = false;
  constructor(id: SessionId, turnId: TurnId) {
    super(`session ${id}: turn ${turnId} is not open any more`);
  }
}

type Outcome = { readonly owned: number; readonly open: number };

export function postgresHistories({ sql, keys }: Database): Histories {
  const cipherOf = async (fence: Fence): Promise<SessionCipher> => {
    const cipher = await keys.find(fence.sessionId);
    if (!cipher) throw new OwnershipLost(fence.sessionId);
    return cipher;
  };
  const judge = (fence: Fence, turnId: TurnId, outcome: Outcome | undefined): void => {
    if (!outcome?.owned) throw new OwnershipLost(fence.sessionId);
    if (!outcome.open) throw new TurnNotOpen(fence.sessionId, turnId);
  };

  /** The answer to an earlier try was lost, but it was stored. */
  const isStored = async (fence: Fence, { batch, digest }: Written<Batch>): Promise<boolean> => {
    const rows = await asked(sql`
      select from entries where session_id = ${fence.sessionId} and pos = ${batch.entries[0]?.pos ?? null}
        and epoch = ${fence.epoch} and digest = ${digest}`);
    return rows.length > 0;
  };
  const settledBefore = async (fence: Fence, { batch, digest }: Written<Settlement>) => {
    const { turnId, asks } = batch;
    const [row] = await asked(sql<Settled[]>`
      select (s.open_interaction = ${asks?.interactionId ?? null} and s.open_revision = ${asks?.pending.revision ?? null})
        is true as "isOpen"
      from blocks b join sessions s on s.id = b.session_id
      where b.session_id = ${fence.sessionId} and b.turn_id = ${turnId}
        and b.epoch = ${fence.epoch} and b.digest = ${digest}`);
    return row && { isOpen: row.isOpen };
  };

  // Parts of every statement, made once: the driver makes a promise of each fragment.
  const nothing = sql``;
  const gate = sql`t`;
  const unmoved = sql`anchor = anchor`;
  const ungranted = noGrant(sql);
  const writes = batchWrites(sql, gate);

  /** Of sessions that have a title, which stays: none is sealed for them any more. */
  const titled = new WeakSet<SessionCipher>();
  const titleFor = ({ sessionId }: Fence, opens: Batch["opens"], cipher: SessionCipher): Buffer | null =>
    opens && !titled.has(cipher) ? cipher.seal(places.title(sessionId), opens.title) : null;

  // A repeated statement finds the anchor moved already, and leaves it.
  const moved = (anchor: Batch["anchor"]) =>
    anchor === undefined ? unmoved : sql`anchor = case anchor when ${anchor.from} then ${anchor.to} else anchor end`;

  const fewer = (recorded: readonly CommandId[]) =>
    recorded.length > 0 ? sql`, unrecorded_actions = unrecorded_actions - told.n` : nothing;

  const append = async (fence: Fence, content: Written<Batch>, cipher: SessionCipher): Promise<void> => {
    const { turnId, opens, reserveSeq, anchor, recorded = [] } = content.batch;
    const changesSession =
      opens !== undefined || reserveSeq !== undefined || anchor !== undefined || recorded.length > 0;
    const title = titleFor(fence, opens, cipher);
    const [outcome] = await asked(sql<Outcome[]>`
      with o as (
        select id as session_id from sessions where ${held(sql, fence)}
        ${changesSession ? sql`for no key update` : sql`for share`}
      ), t as (
        ${
          opens
            ? sql`update inbox set state = case state when 'waiting' then 'running' else state end from o
                where inbox.session_id = ${fence.sessionId} and turn_id = ${turnId}
                  and state in ('waiting', 'running', 'cancelled')
                returning inbox.session_id`
            : sql`select session_id from o`
        }
      )${
        changesSession
          ? sql`${recorded.length > 0 ? tells(sql, gate, recorded) : nothing}, s as (
              update sessions set
                turns = greatest(turns, ${opens?.n ?? 0}), title = coalesce(title, ${title}),
                seq_reserved = greatest(seq_reserved, ${reserveSeq ?? 0}), ${moved(anchor)}${fewer(recorded)}
              from t${recorded.length > 0 ? sql`, told` : nothing} where id = t.session_id
            )`
          : nothing
      }${writes(fence, content, cipher)}
      select (select count(*)::int from o) as owned, (select count(*)::int from t) as open`);
    judge(fence, turnId, outcome);
    if (opens) titled.add(cipher);
  };

  const settle = async (fence: Fence, content: Written<Settlement>, cipher: SessionCipher): Promise<Settled> => {
    const { turnId, turn, outcome, nextSeq, opens, reserveSeq, anchor, recorded = [], asks } = content.batch;
    const title = titleFor(fence, opens, cipher);
    const [done] = await asked(sql<(Outcome & { readonly asked: number })[]>`
      with o as (
        select id, unsettled from sessions where ${held(sql, fence)} for no key update
      ), t as (
        update inbox set state = 'settled', answer = ${sql.json({ outcome })}, body = null, ${ungranted} from o
        where session_id = ${fence.sessionId} and turn_id = ${turnId} and state in ('waiting', 'running', 'cancelled')
        returning session_id
      )${asks ? asking(sql, asks, cipher) : nothing}${recorded.length > 0 ? tells(sql, gate, recorded) : nothing}, s as (
        update sessions set
          unsettled = unsettled - 1,
          status = case when unsettled > 1 then 'turning' ${asks ? sql`when a.asked is not null then 'awaiting'` : nothing}
            else 'resting' end,
          turns = greatest(turns, ${turn.n}), title = coalesce(title, ${title}), updated_at = now(),
          next_seq = ${nextSeq}, seq_reserved = greatest(seq_reserved, ${reserveSeq ?? 0}),
          ${moved(anchor)}${asks ? sql`, ${points(sql)}` : nothing}${fewer(recorded)}
        from t${asks ? sql` left join a on a.session_id = t.session_id` : nothing}${recorded.length > 0 ? sql`, told` : nothing}
        where id = t.session_id
      ), b as (
        insert into blocks (session_id, turn_id, n, epoch, digest, body)
        select session_id, ${turnId}, ${turn.n}, ${fence.epoch}, ${content.digest},
          ${cipher.sealJson(places.blocks(turnId), content.turn)}
        from t
      )${writes(fence, content, cipher)}
      select (select count(*)::int from o) as owned, (select count(*)::int from t) as open,
        ${asks ? sql`(select count(*)::int from a)` : sql`0`} as asked`);
    judge(fence, turnId, done);
    if (opens) titled.add(cipher);
    return { isOpen: done !== undefined && done.asked > 0 };
  };

  return {
    async load(id, anchor) {
      const rows = await asked(sql<{ pos: number; body: Buffer; data_key: Buffer }[]>`
        select e.pos, e.body, s.data_key from entries e join sessions s on s.id = e.session_id
        where e.session_id = ${id}
          and e.pos >= coalesce((select max(pos) from entries where session_id = ${id} and pos <= ${anchor}), 0)
        order by e.pos`);
      return rows
        .flatMap((row) => opened(id, keys.open(id, row.data_key), places.entries(row.pos), row.body, arePlacedEntries))
        .filter(({ pos }) => pos >= anchor);
    },

    async append(fence, batch) {
      const cipher = await cipherOf(fence);
      const content = written(cipher, batch);
      try {
        await append(fence, content, cipher);
      } catch (error) {
        if (!isTaken(error) || !(await isStored(fence, content))) throw error;
      }
    },

    async settle(fence, settlement) {
      const cipher = await cipherOf(fence);
      const content = written(cipher, settlement);
      try {
        return await settle(fence, content, cipher);
      } catch (error) {
        const before = error instanceof TurnNotOpen ? await settledBefore(fence, content) : undefined;
        if (before) return before;
        throw error;
      }
    },

    async intents(id, turnId) {
      // An earlier release kept read-only calls too: what their tool is now counts, as of any call without an intent.
      const rows = await asked(sql<StoredIntent[]>`
        select turn_id as "turnId", call_id as "callId", name, repeatable, key, state
        from tool_calls where session_id = ${id} and turn_id = ${turnId} and not read_only
        order by ordinal`);
      return [...rows];
    },
  };
}
