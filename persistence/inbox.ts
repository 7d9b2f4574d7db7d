import type { TurnId } from "../machines/ids.ts";
import { admission } from "./admission.ts";
import { asked, isTaken } from "./database-error.ts";
import { type EarlierRow, earlierAnswer, earlierColumns } from "./earlier.ts";
import { type Database, held } from "./fence.ts";
import { opened, places } from "./sealed.ts";
import { type CancelInput, type Cancellation, type Inbox, type InboxRow, OwnershipLost } from "./store.ts";

export function postgresInbox(database: Database): Inbox {
  const { sql, keys } = database;

  const cancelled = async (input: CancelInput): Promise<Cancellation> => {
    const target = input.target === "running" ? null : input.target;
    const [row] = await asked(sql<{ owned: number; running: TurnId | null; withdrawn: TurnId | null }[]>`
      with o as (
        select id from sessions where ${held(sql, input.fence)} for no key update
      ), t as (
        update inbox set
          state = case state when 'waiting' then 'withdrawn' else 'cancelled' end,
          body = case state when 'waiting' then null else body end,
          grant_body = case state when 'waiting' then null else grant_body end,
          grant_expires_at = case state when 'waiting' then null else grant_expires_at end
        from o
        where session_id = ${input.fence.sessionId} and state in ('waiting', 'running', 'cancelled')
          and (turn_id = ${target} or (${target}::uuid is null and state <> 'waiting'))
        returning session_id, turn_id, state
      ), s as (
        update sessions set unsettled = unsettled - 1,
          status = case when unsettled = 1 and status = 'turning' then 'resting' else status end
        from t where t.state = 'withdrawn' and id = t.session_id
      ), c as (
        insert into inbox (session_id, command_id, kind, digest, state, answer)
        select o.id, ${input.commandId}, 'cancel', ${input.digest}, 'settled',
          jsonb_build_object('cancelled', coalesce((select jsonb_agg(turn_id) from t), '[]'))
        from o
      )
      select (select count(*)::int from o) as owned,
        (select turn_id from t where state = 'cancelled' limit 1) as running,
        (select turn_id from t where state = 'withdrawn') as withdrawn`);
    if (!row?.owned) throw new OwnershipLost(input.fence.sessionId);
    return { kind: "cancelled", running: row.running ?? undefined, withdrawn: row.withdrawn ?? undefined };
  };

  const known = async ({ fence, commandId, digest }: CancelInput): Promise<Cancellation | undefined> => {
    const [row] = await asked(sql<{ kind: string; digest: Buffer; answer: { cancelled: TurnId[] } }[]>`
      select kind, digest, answer from inbox where session_id = ${fence.sessionId} and command_id = ${commandId}`);
    if (!row) return undefined;
    if (row.kind !== "cancel" || !row.digest.equals(digest)) return { kind: "conflict" };
    return { kind: "duplicate", cancelled: row.answer.cancelled };
  };

  return {
    admit: admission(database),

    async cancel(input) {
      try {
        return await cancelled(input);
      } catch (error) {
        const earlier = isTaken(error) ? await known(input) : undefined;
        if (earlier) return earlier;
        throw error;
      }
    },

    async earlier(id, commandId, kind, digest) {
      const [row] = await asked(sql<EarlierRow[]>`
        select ${earlierColumns(sql)} from inbox i where i.session_id = ${id} and i.command_id = ${commandId}`);
      return earlierAnswer(row, kind, digest);
    },

    async open(id) {
      const rows = await asked(sql<(Omit<InboxRow, "body"> & { sealed: Buffer; data_key: Buffer })[]>`
        select i.command_id as "commandId", i.ordinal, i.kind, i.turn_id as "turnId", i.state, i.takeovers,
          i.body as sealed, s.data_key
        from inbox i join sessions s on s.id = i.session_id
        where i.session_id = ${id} and i.state in ('waiting', 'running', 'cancelled')
        order by i.ordinal`);
      return rows.map(({ sealed, data_key, ...row }) => ({
        ...row,
        body: opened(id, keys.open(id, data_key), places.inbox(row.commandId), sealed, isAnything),
      }));
    },

    async countTakeover(fence, turnId) {
      const [row] = await asked(sql<{ takeovers: number }[]>`
        with o as (select id from sessions where ${held(sql, fence)} for share)
        update inbox set takeovers = takeovers + 1 from o
        where session_id = ${fence.sessionId} and turn_id = ${turnId} and state in ('waiting', 'running', 'cancelled')
        returning takeovers`);
      if (!row) throw new OwnershipLost(fence.sessionId);
      return row.takeovers;
    },
  };
}

const isAnything = (_: unknown): _ is unknown => true;
