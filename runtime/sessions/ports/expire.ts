import { interactionId } from "../../../machines/ids.ts";
import type { SessionPorts } from "../../../machines/session/session.machine.ts";
import type { Resident } from "../resident.ts";
import type { World } from "../world.ts";

/** Waits for the absolute end of what is open and closes it. */
export function expire(resident: Resident, world: World): SessionPorts["expire"] {
  return async (_, signal) => {
    const end = endOf(resident);
    if (end !== undefined) {
      for (let left = end - world.clock.now(); left > 0; left = end - world.clock.now()) {
        await world.clock.sleep(left, signal);
      }
      if (await expireIfOver(resident, world, signal)) return;
    }
    signal.throwIfAborted();
    // Nothing to wait for, or somebody answered in the same moment: the next event decides.
    await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
  };
}

/**
 * True when its time is over, it is closed, and clients hear of it now, from this call alone. With `signal`: not when
 * the state that waits for it was left meanwhile; whoever comes next tells them.
 */
export async function expireIfOver(resident: Resident, world: World, signal?: AbortSignal): Promise<boolean> {
  const { audience } = resident;
  const { pending } = audience;
  const end = endOf(resident);
  if (pending === null || end === undefined || end > world.clock.now()) return false;
  const id = interactionId(pending.id);
  const { interactions } = world.store;
  const isClosed =
    (await resident.patiently(() => interactions.expire(resident.fence, id))) ||
    // By a try whose answer was lost, or by one that nobody waited for any more.
    (await resident.patiently(() => interactions.find(resident.id, id)))?.status === "expired";
  if (!isClosed || signal?.aborted || audience.pending !== pending) return false;
  audience.show("interaction_resolved", { interaction_id: pending.id, resolution: null, by: "expired" });
  audience.showState("resting", null);
  return true;
}

function endOf({ audience }: Resident): number | undefined {
  const at = audience.pending?.expires_at;
  return at === undefined ? undefined : Date.parse(at);
}
