import type { Sql } from "postgres";
import type { Clock } from "../machines/effects.ts";
import { never } from "../machines/failure.ts";
import { type Due, due, migrate, migrateUnheard } from "./migrate.ts";

/** How a process comes to the database that its release needs. Where nothing is due, none of them waits. */
export type Upgrade =
  | { readonly kind: "at_once" }
  /** A node beside others: it migrates once they are silent, for what they run on must not change under them. */
  | ({ readonly kind: "when_silent" } & Waits)
  /** A worker: it waits for a node of its release, which migrates. */
  | ({ readonly kind: "by_a_node" } & Waits);

export type Waits = {
  readonly clock: Pick<Clock, "monotonic" | "sleep">;
  /** Ends the waiting: it rejects with the reason. */
  readonly signal: AbortSignal;
  /** Told at once and again every minute, as long as it waits. */
  readonly onWaiting: (due: Due) => void;
};

/** As long as a starting node waits before it takes over what others held (`runtime/sessions/predecessors.ts`). */
const SILENT_MS = 5_000;
const ASK_EVERY_MS = 500;
const TELL_EVERY_MS = 60_000;

export async function upgrade(sql: Sql, how: Upgrade): Promise<void> {
  switch (how.kind) {
    case "at_once":
      await migrate(sql);
      return;
    case "when_silent":
      return untilDone(how, () => migrateUnheard(sql, SILENT_MS));
    case "by_a_node":
      return untilDone(how, () => due(sql, SILENT_MS));
    default:
      never(how);
  }
}

async function untilDone({ clock, signal, onWaiting }: Waits, look: () => Promise<Due | undefined>): Promise<void> {
  let toldAt = Number.NEGATIVE_INFINITY;
  for (let found = await look(); found !== undefined; found = await look()) {
    if (clock.monotonic() - toldAt >= TELL_EVERY_MS) {
      toldAt = clock.monotonic();
      onWaiting(found);
    }
    await clock.sleep(ASK_EVERY_MS, signal);
  }
}
