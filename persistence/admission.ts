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
type Sealed = { readonly body: Buffer; readonly grant: Buffer | null };

/**
 * `Inbox.admit`: one statement decides and stores everything. A message first tries one that only admits while nothing
 * is open, unless its sender knows better; what is not admitted then costs the one that closes what is open, too. Why a
 * command was not admitted is told by one more.
 */
export function admission({ sql, keys, now }: Database): Inbox["admit"] {
  const overtaken = (at: Date) => sql`status = case when o.asked_until <= ${at} then 'expired' else 'superseded' end`;
  const resolved = (cipher: SessionCipher, { commandId, turnId }: AdmitInput, given: Resolves) =>
    sql`status = ${given.status}, decided_by = ${commandId}, decided_turn = ${turnId},
      resolution = ${cipher.seal(places.resolutions(given.interactionId, given.revision), given.resolution)}`;

  /** Ours under this epoch, or nobody's. */
  const heldOrFree = ({ sessionId, node, epoch }: AdmitInput) =>
    epoch === undefined ? free(sql) : held(sql, { sessionId, node, epoch });
  /** True of the session row that may take the command, which no plan is to look for among those of its owner. */
  const isAdmissible = (input: AdmitInput) => sql`
    sessions.id = ${input.sessionId} and (sessions.owner = ${input.owner}) is true and ${heldOrFree(input)}
    and sessions.unsettled < ${input.queueBound}::int + 1
    and not exists (select from inbox where session_id = ${input.sessionId} and command_id = ${input.commandId})`;
  /** Assignments of the session that go with it. */
  const admits = ({ node, epoch, leaseMs, nextSeq }: AdmitInput) => sql`
    ${
      epoch === undefined
        ? takes(sql, node, leaseMs)
        : sql`until = ${leaseEnd(sql, leaseMs)},
            seq_reserved = greatest(seq_reserved, ${nextSeq}::bigint + ${SEQ_RESERVE})`
    },
    next_ordinal = next_ordinal + 1, unsettled = unsettled + 1, status = 'turning', updated_at = now()`;
  /** What the update of the session gives back. */
  const admittedColumns = ({ epoch }: AdmitInput) =>
    sql`sessions.id, next_ordinal - 1 as ordinal, seq_reserved${epoch === undefined ? sql`, ${takenColumns(sql)}` : sql``}`;
  /** The end of the statement: stores the row of the command for the session in `s`, and gives back `s`. */
  const withItsRow = ({ commandId, kind, turnId, digest, grant }: AdmitInput, sealed: Sealed) => sql`i as (
      insert into inbox (
        session_id, command_id, kind, ordinal, turn_id, digest, state, body, grant_body, grant_expires_at)
      select s.id, ${commandId}, ${kind}, s.ordinal, ${turnId}, ${digest}, 'waiting', ${sealed.body},
        ${sealed.grant}::bytea, ${grant ? moment(grant.expiresAt) : null}::timestamptz
      from s
    )
    select * from s`;

  /**
   * Nothing is open. The row that the update locks decides, also after a wait. A copy of the command that comes at the
   * same moment is not seen: it meets the key of the inbox.
   */
  const admittedAlone = async (input: AdmitInput, sealed: Sealed) => {
    const [row] = await asked(sql<AdmittedRow[]>`
      with s as (
        update sessions set ${admits(input)} where ${isAdmissible(input)} and open_interaction is null
        returning ${admittedColumns(input)}
      ), ${withItsRow(input, sealed)}`);
    return row;
  };

  const admittedClosing = async (input: AdmitInput, sealed: Sealed, cipher: SessionCipher) => {
    const { resolves } = input;
    const at = moment(now());
    // What is open is closed on the locked row. One whose row this statement can't see yet (it was asked while we waited
    // for the lock) admits nothing: the next try sees it.
    const [row] = await asked(sql<AdmittedRow[]>`
      with o as (
        select id as session_id, open_interaction as asked, open_until as asked_until from sessions
        where ${isAdmissible(input)} and ${answerable(sql, input, at)}
        for no key update
      ), x as (
        update interactions set ${resolves ? resolved(cipher, input, resolves) : overtaken(at)}
        from o where interactions.session_id = o.session_id and interactions.interaction_id = o.asked
        returning interactions.session_id
      ), s as (
        update sessions set ${admits(input)}, ${closes(sql)}
        from o left join x on x.session_id = o.session_id
        where id = o.session_id and (o.asked is null or x.session_id is not null)
        returning ${admittedColumns(input)}
      ), ${withItsRow(input, sealed)}`);
    return row;
  };

  /** Undefined: nothing stands in the way any more. */
  const refusal = async (input: AdmitInput): Promise<Admission | undefined> => {
    const [row] = await asked(sql<RefusalRow[]>`
      select ${earlierColumns(sql)}, (${heldOrFree(input)}) is true as mine,
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
    const { sessionId: id, node, epoch, turnId, grant } = input;
    const cipher = await keys.find(id);
    if (!cipher) return { kind: "not_found" };
    const sealed: Sealed = {
      body: cipher.seal(places.inbox(input.commandId), input.body),
      grant: grant ? sealGrant(cipher, turnId, input.owner, grant) : null,
    };
    const admitted = (row: AdmittedRow): Admission => ({
      kind: "admitted",
      ordinal: row.ordinal,
      taken: epoch === undefined ? taken(keys, id, node, row) : undefined,
      reservedSeq: Number(row.seq_reserved),
    });
    const unlessTaken = (error: unknown): undefined => {
      if (!isTaken(error)) throw error;
    };

    if (input.kind === "message" && input.isSomethingOpen !== true) {
      const row = await admittedAlone(input, sealed).catch(unlessTaken);
      if (row) return admitted(row);
    }
    for (let left = TRIES; ; left--) {
      const asking = admittedClosing(input, sealed, cipher);
      const row = await (left > 1 ? asking.catch(unlessTaken) : asking);
      if (row) return admitted(row);
      const answer = await refusal(input);
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
