import { freeze } from "../../../machines/session/session.frozen.ts";
import type { SessionPorts } from "../../../machines/session/session.machine.ts";
import { type Resident, rowOf } from "../resident.ts";
import type { World } from "../world.ts";
import { expireIfOver } from "./expire.ts";

/** Stores the snapshot and frees the lease in one statement, unless a row waits. */
export function fallAsleep(resident: Resident, world: World): SessionPorts["fallAsleep"] {
  return async () => {
    if (resident.rows.size > 0 || !(await areActionsOver(resident))) return "busy";
    await expireIfOver(resident, world);
    const began = world.clock.monotonic();
    await resident.flush();
    const { actor, audience } = resident;
    const frozen = freeze(actor.getPersistedSnapshot());
    const awaiting = audience.pending !== null;
    // The last signal's number is used with the word that it sleeps, so it is counted in before it is known.
    const nextSeq = awaiting ? audience.nextSeq : audience.nextSeq + 1;
    const status = awaiting ? "awaiting" : "resting";
    const end = await world.store.sessions.sleep(resident.fence, frozen, nextSeq, status);
    if (end === "busy") {
      // A row waits that nobody here knows of: the answer to its admission was lost.
      for (const row of await world.store.inbox.open(resident.id)) resident.adopt(rowOf(row));
      return "busy";
    }
    if (!awaiting) audience.showState("hibernated", null);
    world.observe({ type: "session.hibernated", sessionId: resident.id, ms: world.clock.monotonic() - began });
    return "asleep";
  };
}

/** A node that drains starts nothing new, so it waits here for what is under way, until its grace is over. */
async function areActionsOver({ acting, actor, parking }: Resident): Promise<boolean> {
  const isDraining = actor.getSnapshot().context.draining;
  if (isDraining && !parking.signal.aborted) {
    const parked = new Promise((resolve) => parking.signal.addEventListener("abort", resolve, { once: true }));
    await Promise.race([acting.whenOver(), parked]);
  }
  return acting.size === 0;
}
