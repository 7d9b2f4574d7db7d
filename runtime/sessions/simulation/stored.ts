import type { Sql } from "postgres";
import { type SessionId, type TurnId, turnId } from "../../../machines/ids.ts";
import type { Turn } from "../../../machines/protocol/turns.ts";
import type { Store } from "../../../persistence/store.ts";
import type { StoredAsking } from "./asking-oracle.ts";
import type { Stored } from "./oracle.ts";
import type { SimulatedPlatform } from "./platform.ts";

export type Database = { readonly sql: Sql; readonly store: Store };

type Row = Pick<Stored, "status" | "isHeld" | "isTouched" | "hasLapsed"> & {
  readonly unsettled: number;
  readonly open_until: Date | null;
};

/** An owner whose lease ran out is none: what it left at rest is asleep. */
export async function sessionRow({ sql }: Database, id: SessionId): Promise<Row> {
  const [row] = await sql<[Row]>`
    select case when status = 'resting' and until < now() then 'hibernated' else status end as status,
      coalesce(until >= now(), false) as "isHeld", coalesce(until < now(), false) as "hasLapsed", unsettled,
      epoch > 0 as "isTouched", open_until
    from sessions where id = ${id}`;
  return row;
}

/** Everything that the database holds of a session, read by other ways than its owner's. */
export async function storedOf(db: Database, id: SessionId, platform: SimulatedPlatform | undefined): Promise<Stored> {
  const rows = await db.sql<Stored["rows"][number][]>`
    select command_id as command, turn_id as turn, state from inbox where session_id = ${id}`;
  const turns: readonly Turn[] = await db.store.turns.page(id, 1_000);
  const entries = await db.store.histories.load(id, 0);
  const turnIds = turns.map(({ turn_id }) => turnId(turn_id));
  const asking = await storedAsking(db, id, turnIds, platform);
  return { ...(await sessionRow(db, id)), rows: [...rows], turns, asking, entries };
}

async function storedAsking(
  { sql, store }: Database,
  id: SessionId,
  turns: readonly TurnId[],
  platform: SimulatedPlatform | undefined,
): Promise<StoredAsking> {
  const open = await store.interactions.open(id);
  const actions = await sql<StoredAsking["actions"][number][]>`
    select command_id as command, state, recorded from actions where session_id = ${id}`;
  const [untold] = await sql<{ n: number }[]>`select unrecorded_actions as n from sessions where id = ${id}`;
  const plans = [...(platform?.plans.values() ?? [])];
  return {
    open: open && { id: open.id, revision: open.revision },
    actions: [...actions],
    untold: untold?.n ?? 0,
    shown: await store.actions.shown(id, turns),
    plans: new Map(plans.map(({ id: plan, items }) => [plan, items.map(({ variantId }) => variantId)])),
  };
}
