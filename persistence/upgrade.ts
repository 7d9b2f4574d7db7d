import type { Sql } from "postgres";
import type { Clock } from "../machines/effects.ts";
import { isRetryable, never } from "../machines/failure.ts";
import { type Due, due, type Hindered, migrate, migrateUnheard } from "./migrate.ts";

/** How a process comes to the database that its release needs. Where nothing is due, none of them waits. */
export type Upgrade =
  /** Nothing else runs on it, as in a test. Who comes at the same time waits until the first one has migrated. */
  | { readonly kind: "at_once" }
  /**
   * A node: it migrates once others were silent for `silentMs`, for what they run on must not change under them. 0 where
   * no other can be.
   */
  | ({ readonly kind: "when_silent"; readonly silentMs: number } & Waits)
  /** A worker: it waits for a node of its release, which migrates. */
  | ({ readonly kind: "by_a_node" } & Waits);

/** What a process waits for; with `unavailable`, the database was there before and does not answer now. */
export type Hindrance = Due | Hindered | { readonly kind: "unavailable"; readonly failure: unknown };

export type Waits = {
  readonly clock: Pick<Clock, "monotonic" | "sleep">;
  /** Ends the waiting: it rejects with the reason. */
  readonly signal: AbortSignal;
  /** Told of each kind at once and again every minute, as long as it waits. */
  readonly onWaiting: (hindrance: Hindrance) => void;
};

const ASK_EVERY_MS = 500;
const TELL_EVERY_MS = 60_000;

export async function upgrade(sql: Sql, how: Upgrade): Promise<void> {
  switch (how.kind) {
    case "at_once":
      await migrate(sql);
      return;
    case "when_silent":
      return untilDone(how, () => migrateUnheard(sql, how.silentMs));
    case "by_a_node":
      return untilDone(how, () => due(sql));
    default:
      never(how);
  }
}

async function untilDone(
  { clock, signal, onWaiting }: Waits,
  look: () => Promise<Hindrance | undefined>,
): Promise<void> {
  const toldAt = new Map<Hindrance["kind"], number>();
  // A database that does not answer at the start may have a wrong address: that ends the process. Later it is waited for.
  for (let found = await look(); found !== undefined; found = await look().catch(unavailable)) {
    const told = toldAt.get(found.kind);
    if (told === undefined || clock.monotonic() - told >= TELL_EVERY_MS) {
      toldAt.set(found.kind, clock.monotonic());
      onWaiting(found);
    }
    await clock.sleep(ASK_EVERY_MS, signal);
  }
}

function unavailable(failure: unknown): Hindrance {
  if (isRetryable(failure)) return { kind: "unavailable", failure };
  throw failure;
}
