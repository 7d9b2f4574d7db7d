import { failureCode } from "../../machines/failure.ts";
import type { Directory } from "./directory.ts";
import type { World } from "./world.ts";

const BEAT_MS = 2_000;
const SWEEP_MS = 3_000;
const GRANTS_MS = 60_000;
const BLOBS_MS = 60_000;
const SWEEP_AT_ONCE = 20;

export type UpkeepLog = (event: "upkeep.failed" | "session.unrevived", fields: { name: string; code: string }) => void;

/**
 * What a node does every few seconds: says that it lives, extends its leases, takes up work that nobody owns, forgets
 * grants that are over. `onDatabase` hears whether the database answers.
 */
export function startUpkeep(
  directory: Directory,
  world: World,
  log: UpkeepLog,
  onDatabase: (answers: boolean) => void,
): () => Promise<void> {
  const { store, clock, node, settings } = world;
  const running = new Set<Promise<void>>();

  /** One at a time of each kind; a failure is said and tried again at the next beat. */
  const every = (name: string, ms: number, work: () => Promise<unknown>): (() => void) => {
    let current: Promise<void> | undefined;
    return clock.every(ms, () => {
      if (current) return;
      current = work()
        .then(
          () => undefined,
          (error: unknown) => log("upkeep.failed", { name, code: failureCode(error) }),
        )
        .finally(() => {
          if (current) running.delete(current);
          current = undefined;
        });
      running.add(current);
    });
  };

  const stops = [
    every("beat", BEAT_MS, async () => {
      try {
        await store.nodes.beat(node);
        onDatabase(true);
      } catch (error) {
        onDatabase(false);
        throw error;
      }
    }),
    every("renew", settings.leaseMs / 3, async () => {
      const residents = directory.residents;
      const asked = clock.monotonic();
      const kept = new Set(
        await store.sessions.renew(
          residents.map((resident) => resident.fence),
          settings.leaseMs,
        ),
      );
      for (const resident of residents) {
        if (kept.has(resident.id)) resident.lease.extended(asked);
        // Asleep meanwhile is no loss; still here without the lease is.
        else if (directory.resident(resident.id) === resident && !isLeaving(resident)) directory.drop(resident);
      }
    }),
    every("sweep", SWEEP_MS, () => sweep(directory, world, log)),
    every("grants", GRANTS_MS, () => store.grants.sweep()),
    every("blobs", BLOBS_MS, () => store.blobs.sweep()),
  ];

  return async () => {
    for (const stop of stops) stop();
    await Promise.all(running);
  };
}

/** Takes up sessions that have work and no owner. */
export async function sweep(directory: Directory, world: World, log: UpkeepLog): Promise<void> {
  if (directory.isDraining) return;
  const { setbacks } = directory;
  const orphans = await world.store.sessions.orphans(SWEEP_AT_ONCE + setbacks.size);
  await Promise.all(
    orphans
      .filter((id) => setbacks.mayTry(id))
      .map((id) =>
        directory
          .revive(id)
          .catch((error: unknown) => log("session.unrevived", { name: id, code: failureCode(error) })),
      ),
  );
}

const isLeaving = (resident: Directory["residents"][number]): boolean => {
  const { status, value } = resident.actor.getSnapshot();
  return status !== "active" || value === "hibernating";
};
