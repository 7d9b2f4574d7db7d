import type { CommandId, InteractionId, TurnId } from "../machines/ids.ts";
import type { Resolution } from "../machines/protocol/commands.ts";
import type { PendingInteraction } from "../machines/protocol/interactions.ts";
import { asked } from "./database-error.ts";
import { type Database, held } from "./fence.ts";
import { moment } from "./grants.ts";
import { closes } from "./pointer.ts";
import { isRecord, opened, places } from "./sealed.ts";
import { type InteractionRow, type InteractionStatus, type Interactions, OwnershipLost } from "./store.ts";

type Open = {
  readonly interaction_id: InteractionId;
  readonly revision: number;
  readonly body: Buffer;
  readonly data_key: Buffer;
};
type Found = {
  readonly turn_id: TurnId;
  readonly revision: number;
  readonly status: InteractionStatus;
  readonly body: Buffer;
  readonly data_key: Buffer;
  readonly decided_by: CommandId | null;
  readonly decided_turn: TurnId | null;
  readonly resolution: Buffer | null;
};

/** They are opened by `Histories.settle` and closed by `Inbox.admit` or `expire`. */
export function postgresInteractions({ sql, keys, now }: Database): Interactions {
  return {
    async find(id, interactionId) {
      const [row] = await asked(sql<Found[]>`
        select i.turn_id, i.revision, i.body, i.decided_by, i.decided_turn, i.resolution, s.data_key,
          case
            when i.status <> 'open' then i.status
            when i.expires_at <= ${moment(now())} then 'expired'
            when s.open_interaction = i.interaction_id then 'open'
            else 'superseded'
          end as status
        from interactions i join sessions s on s.id = i.session_id
        where i.session_id = ${id} and i.interaction_id = ${interactionId}`);
      if (!row) return undefined;
      const cipher = keys.open(id, row.data_key);
      const place = [interactionId, row.revision] as const;
      const found: InteractionRow = {
        pending: opened(id, cipher, places.interactions(...place), row.body, isPending),
        turnId: row.turn_id,
        status: row.status,
      };
      if (row.decided_by === null || row.decided_turn === null || row.resolution === null) return found;
      const resolution = opened(id, cipher, places.resolutions(...place), row.resolution, isResolution);
      return { ...found, resolved: { commandId: row.decided_by, turnId: row.decided_turn, resolution } };
    },

    async open(id) {
      const [row] = await asked(sql<Open[]>`
        select i.interaction_id, i.revision, i.body, s.data_key
        from sessions s join interactions i on i.session_id = s.id and i.interaction_id = s.open_interaction
        where s.id = ${id}`);
      if (!row) return undefined;
      const place = places.interactions(row.interaction_id, row.revision);
      return opened(id, keys.open(id, row.data_key), place, row.body, isPending);
    },

    async expire(fence, interactionId) {
      const [done] = await asked(sql<{ owned: number; closed: number }[]>`
        with o as (
          select id as session_id, open_interaction, open_until from sessions where ${held(sql, fence)} for no key update
        ), d as (
          select session_id from o where open_interaction = ${interactionId} and open_until <= ${moment(now())}
        ), x as (
          update interactions set status = 'expired' from d
          where interactions.session_id = d.session_id and interaction_id = ${interactionId}
        ), s as (
          update sessions set ${closes(sql)},
            status = case when status = 'awaiting' and unsettled = 0 then 'resting' else status end
          from d where id = d.session_id
        )
        select (select count(*)::int from o) as owned, (select count(*)::int from d) as closed`);
      if (!done?.owned) throw new OwnershipLost(fence.sessionId);
      return done.closed > 0;
    },
  };
}

function isPending(value: unknown): value is PendingInteraction {
  return isRecord(value) && typeof value["id"] === "string" && typeof value["prompt"] === "string";
}

function isResolution(value: unknown): value is Resolution {
  return isRecord(value) && typeof value["kind"] === "string";
}
