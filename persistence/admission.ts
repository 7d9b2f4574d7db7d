import type { Fragment, Sql } from "postgres";
import type { SessionCipher } from "./cipher/session-cipher.ts";
import { asked, isTaken } from "./database-error.ts";
import { type EarlierRow, earlierAnswer, earlierColumns } from "./earlier.ts";
import { type Database, free, held, leaseEnd } from "./fence.ts";
import { moment, sealGrant } from "./grants.ts";
import { closes, isOpenAs } from "./pointer.ts";
import { places } from "./sealed.ts";
import { type Admission, type AdmitInput, type Inbox, SEQ_RESERVE } from "./store.ts";
import { type TakenRow, taken, takenColumns, takes } from "./taking.ts";

/** How often a command may find the session changed between the statement and the look at why it did not hit. */
const TRIES = 3;

type Resolves = NonNullable<AdmitInput["resolves"]>;
type AdmittedRow = TakenRow & { readonly ordinal: number; readonly seq_reserved: string };

/**
 * `Inbox.admit`: one statement decides and stores everything; only a command that was not admitted costs a second one,
 * which tells why.
 */
export function admission({ sql, keys, now }: Database): Inbox["admit"] {
  const overtaken = (at: Date) => sql`status = case when o.asked_until <= ${at} then 'expired' else 'superseded' end`;
  const resolved = (cipher: SessionCipher, { commandId, turnId }: AdmitInput, given: Resolves) =>
    sql`status = ${given.status}, decided_by = ${commandId}, decided_turn = ${turnId},
      resolution = ${cipher.seal(places.resolutions(given.interactionId, given.revision), given.resolution)}`;

  /** Undefined: no row was hit. */
  const admitted = async (input: AdmitInput): Promise<Admission | undefined> => {
    const { sessionId: id, node, epoch, leaseMs, commandId, turnId, grant, resolves } = input;
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

    const at = moment(now());
    // What is open is closed on the locked row. One whose row this statement can't see yet (it was asked while we waited
    // for the lock) admits nothing: the next try sees it.
    const [row] = await asked(sql<AdmittedRow[]>`
      with o as (
        select id as session_id, open_interaction as asked, open_until as asked_until from sessions
        where id = ${id} and owner = ${input.owner} and ${may} and unsettled < ${input.queueBound}::int + 1
          and not exists (select from inbox where session_id = ${id} and command_id = ${commandId})
          and ${answerable(sql, input, at)}
        for no key update
      ), x as (
        update interactions set ${resolves ? resolved(cipher, input, resolves) : overtaken(at)}
        from o where interactions.session_id = o.session_id and interactions.interaction_id = o.asked
        returning interactions.session_id
      ), s as (
        update sessions set ${lease}, ${closes(sql)},
          next_ordinal = next_ordinal + 1, unsettled = unsettled + 1, status = 'turning', updated_at = now()
        from o left join x on x.session_id = o.session_id
        where id = o.session_id and (o.asked is null or x.session_id is not null)
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
      select ${earlierColumns(sql)}, (${may}) is true as mine,
        sessions.unsettled > ${input.queueBound}::int as full, (${answerable(sql, input, moment(now()))}) is true as fits
      from sessions left join inbox i on i.session_id = sessions.id and i.command_id = ${input.commandId}
      where sessions.id = ${input.sessionId} and sessions.owner = ${input.owner}`);
    if (!row) return { kind: "not_found" };
    const earlier = earlierAnswer(row, input.kind, input.digest);
    if (earlier) return earlier;
    if (!row.mine) return { kind: "elsewhere" };
    // Before the bound: trying again later would not help.
    if (!row.fits) return { kind: "not_open" };
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

type RefusalRow = EarlierRow & { readonly mine: boolean; readonly full: boolean; readonly fits: boolean };

/** A message is answered whatever is open; an answer needs its question. */
function answerable(sql: Sql, { kind, resolves }: AdmitInput, at: Date): Fragment {
  if (kind === "message") return sql`true`;
  return resolves ? isOpenAs(sql, resolves, at) : sql`false`;
}
