import type { TurnId } from "../machines/ids.ts";
import { asked, isTaken } from "./database-error.ts";
import { type Database, free, held, leaseEnd } from "./fence.ts";
import { moment, sealGrant } from "./grants.ts";
import { places } from "./sealed.ts";
import { type Admission, type AdmitInput, type Inbox, type InboxState, SEQ_RESERVE } from "./store.ts";
import { type TakenRow, taken, takenColumns, takes } from "./taking.ts";

/** How often a command may find the session changed between the statement and the look at why it did not hit. */
const TRIES = 3;

type AdmittedRow = TakenRow & { readonly ordinal: number; readonly seq_reserved: string };

/**
 * `Inbox.admit`: one statement decides and stores everything; only a command that was not admitted costs a second one,
 * which tells why.
 */
export function admission({ sql, keys }: Database): Inbox["admit"] {
  /** Undefined: no row was hit. */
  const admitted = async (input: AdmitInput): Promise<Admission | undefined> => {
    const { sessionId: id, node, epoch, leaseMs, commandId, turnId, grant } = input;
    const cipher = await keys.find(id);
    if (!cipher) return { kind: "not_found" };
    const lease =
      epoch === undefined
        ? takes(sql, node, leaseMs)
        : sql`until = ${leaseEnd(sql, leaseMs)},
            seq_reserved = greatest(seq_reserved, ${input.nextSeq}::bigint + ${SEQ_RESERVE})`;
    const may = epoch === undefined ? free(sql) : held(sql, { sessionId: id, node, epoch });
    const granted = grant
      ? sql`, g as (
          insert into grants (session_id, turn_id, expires_at, body)
          select s.id, ${turnId}, ${moment(grant.expiresAt)}, ${sealGrant(cipher, turnId, input.owner, grant)} from s
        )`
      : sql``;

    const [row] = await asked(sql<AdmittedRow[]>`
      with s as (
        update sessions set ${lease},
          next_ordinal = next_ordinal + 1, unsettled = unsettled + 1, status = 'turning', updated_at = now()
        where id = ${id} and owner = ${input.owner} and ${may} and unsettled < ${input.queueBound}::int + 1
          and not exists (select from inbox where session_id = ${id} and command_id = ${commandId})
        returning id, next_ordinal - 1 as ordinal, seq_reserved, ${takenColumns(sql)}
      ), i as (
        insert into inbox (session_id, command_id, kind, ordinal, turn_id, digest, state, body)
        select s.id, ${commandId}, ${input.kind}, s.ordinal, ${turnId}, ${input.digest}, 'waiting',
          ${cipher.seal(places.inbox(commandId), input.body)}
        from s
      )${granted}
      select ${epoch === undefined ? sql`*` : sql`ordinal, seq_reserved`} from s`);
    if (!row) return undefined;
    return {
      kind: "admitted",
      ordinal: row.ordinal,
      taken: epoch === undefined ? taken(keys, id, node, row) : undefined,
      reservedSeq: Number(row.seq_reserved),
    };
  };

  /** Undefined: nothing stands in the way any more. */
  const refusal = async (input: AdmitInput): Promise<Admission | undefined> => {
    const may =
      input.epoch === undefined
        ? free(sql)
        : held(sql, { sessionId: input.sessionId, node: input.node, epoch: input.epoch });
    const [row] = await asked(sql<RefusalRow[]>`
      select i.kind, i.turn_id, i.state, i.digest, i.answer, (${may}) is true as mine,
        sessions.unsettled > ${input.queueBound}::int as full
      from sessions left join inbox i on i.session_id = sessions.id and i.command_id = ${input.commandId}
      where sessions.id = ${input.sessionId} and sessions.owner = ${input.owner}`);
    if (!row) return { kind: "not_found" };
    if (row.turn_id !== null && row.kind === input.kind && row.digest?.equals(input.digest)) {
      return { kind: "duplicate", turnId: row.turn_id, state: row.state, answer: row.answer ?? undefined };
    }
    if (row.kind !== null) return { kind: "conflict" };
    if (!row.mine) return { kind: "elsewhere" };
    return row.full ? { kind: "queue_full" } : undefined;
  };

  return async (input) => {
    for (let left = TRIES; ; left--) {
      const result = await admitted(input).catch((error: unknown) => {
        if (isTaken(error) && left > 1) return undefined;
        throw error;
      });
      const answer = result ?? (await refusal(input));
      if (answer) return answer;
      if (left === 1) return { kind: "elsewhere" };
    }
  };
}

type RefusalRow = {
  readonly kind: string | null;
  readonly turn_id: TurnId | null;
  readonly state: InboxState;
  readonly digest: Buffer | null;
  readonly answer: unknown;
  readonly mine: boolean;
  readonly full: boolean;
};
