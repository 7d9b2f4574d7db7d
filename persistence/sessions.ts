import type { SessionId } from "../machines/ids.ts";
import { asked } from "./database-error.ts";
import { type Database, free, freed, held, leaseEnd, raised } from "./fence.ts";
import { moment } from "./grants.ts";
import { inTime } from "./pointer.ts";
import { opened, places } from "./sealed.ts";
import { OwnershipLost, type SessionRow, type Sessions } from "./store.ts";
import { firstUnused, type TakenRow, taken, takenColumns, takes } from "./taking.ts";
import { clear } from "./text.ts";

type Listed = {
  readonly id: SessionId;
  readonly status: SessionRow["status"];
  readonly title: Buffer | null;
  readonly updated_at: Date;
  readonly data_key: Buffer;
  readonly next_seq: string;
  readonly pending: boolean;
};

/** `removeBytes` removes what lies outside the database; it never rejects. */
export function postgresSessions(
  { sql, keys, onBad, now }: Database,
  removeBytes: (id: SessionId) => Promise<void>,
): Sessions {
  // A session at rest whose owner died without putting it to sleep is asleep all the same; so is one whose question is
  // over, before anybody has closed it.
  const listed = (at: Date) => sql`
    id, title, updated_at, data_key,
    ${firstUnused(sql)} as next_seq,
    open_interaction is not null and ${inTime(sql, at)} as pending,
    case
      when status = 'awaiting' and open_interaction is not null and ${inTime(sql, at)} then 'awaiting'
      when status in ('awaiting', 'resting') and until < now() or status = 'awaiting' and until is null then 'hibernated'
      when status = 'awaiting' then 'resting'
      else status
    end as status`;

  const shown = (row: Listed, title: string | null): SessionRow => ({
    sessionId: row.id,
    title,
    status: row.status,
    updatedAt: row.updated_at,
    pendingInteraction: row.pending,
    nextSeq: Number(row.next_seq),
  });
  // One broken title must not hide the other sessions.
  const titleOf = (row: Listed): string | null => {
    if (row.title === null) return null;
    try {
      return opened(row.id, keys.peek(row.id, row.data_key), places.title(row.id), row.title, isString);
    } catch {
      onBad("title_broken");
      return null;
    }
  };
  /** After a statement that hit nothing: whether the fence still stands, and whether an earlier try freed the lease. */
  const standing = async (id: SessionId, epoch: number) => {
    const [row] = await asked(sql<{ held: boolean; asleep: boolean }[]>`
      select node is not null as held, node is null and slept_epoch = epoch as asleep
      from sessions where id = ${id} and epoch = ${epoch}`);
    return row;
  };

  return {
    async create(id, owner, agent) {
      await asked(sql`
        insert into sessions (id, owner, agent, data_key) values (${id}, ${owner}, ${clear(agent)}, ${keys.make(id)})`);
    },

    async list(owner) {
      const rows = await asked(sql<Listed[]>`
        select ${listed(moment(now()))} from sessions where owner = ${owner} order by updated_at desc, id`);
      return rows.map((row) => shown(row, titleOf(row)));
    },

    async find(id, owner) {
      const [row] = await asked(sql<Listed[]>`
        select ${listed(moment(now()))} from sessions where id = ${id} and owner = ${owner}`);
      if (!row) return undefined;
      keys.open(id, row.data_key);
      return shown(row, titleOf(row));
    },

    async take(id, node, leaseMs) {
      const [row] = await asked(sql<TakenRow[]>`
        update sessions set ${takes(sql, node, leaseMs)},
          status = case status when 'hibernated' then 'resting' else status end
        where id = ${id} and ${free(sql)}
        returning ${takenColumns(sql)}`);
      return row && taken(keys, id, node, row);
    },

    async renew(fences, leaseMs) {
      if (fences.length === 0) return [];
      const rows = await asked(sql<{ id: SessionId }[]>`
        update sessions set until = ${leaseEnd(sql, leaseMs)}
        from jsonb_to_recordset(${sql.json(fences)}) as f ("sessionId" uuid, node uuid, epoch bigint)
        where sessions.id = f."sessionId" and sessions.node = f.node and sessions.epoch = f.epoch
        returning sessions.id`);
      return rows.map(({ id }) => id);
    },

    async sleep(fence, frozen, nextSeq) {
      const id = fence.sessionId;
      const cipher = await keys.find(id);
      if (!cipher) throw new OwnershipLost(id);
      const slept = await asked(sql`
        update sessions set
          node = null, until = null, slept_epoch = epoch, next_seq = ${nextSeq},
          status = case when open_interaction is null then 'hibernated' else 'awaiting' end,
          machine = ${frozen.machine}, version = ${frozen.version},
          snapshot = ${cipher.seal(places.snapshot(id), frozen.state)}
        where ${held(sql, fence)} and unsettled = 0`);
      if (slept.count > 0) return "asleep";
      const stands = await standing(id, fence.epoch);
      if (stands?.asleep) return "asleep";
      if (stands?.held) return "busy";
      throw new OwnershipLost(id);
    },

    async release(fence) {
      const released = await asked(sql`update sessions set ${freed(sql)} where ${held(sql, fence)}`);
      if (released.count > 0) return;
      const stands = await standing(fence.sessionId, fence.epoch);
      if (!stands || stands.held) throw new OwnershipLost(fence.sessionId);
    },

    async orphans(limit) {
      const rows = await asked(sql<{ id: SessionId }[]>`
        select id from (
          select sessions.id, sessions.updated_at from inbox join sessions on sessions.id = inbox.session_id
          where inbox.state in ('waiting', 'running', 'cancelled') and ${free(sql)}
          union
          select id, updated_at from sessions where open_until <= ${moment(now())} and ${free(sql)}
        ) as orphans
        order by updated_at limit ${limit}`);
      return rows.map(({ id }) => id);
    },

    async raiseAll(node) {
      // Reads the whole table: an index of who holds what would be written by every take and sleep, for one look a start.
      const taken = await asked(sql`
        update sessions set ${raised(sql)} where node is not null and node <> ${node}`);
      return taken.count;
    },

    async erase(id, owner) {
      const erased = await asked(sql`
        with gone as (delete from sessions where id = ${id} and owner = ${owner} returning id)
        insert into blob_leftovers (key) select id from gone`);
      if (erased.count === 0) return false;
      keys.forget(id);
      await removeBytes(id);
      return true;
    },
  };
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}
