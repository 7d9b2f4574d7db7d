import { createActor, toPromise } from "xstate";
import { wireCompaction } from "../../../machines/compaction/compaction.machine.ts";
import { type Compacted, isOverThreshold, type Room } from "../../../machines/compaction/compaction.rules.ts";
import type { TurnId } from "../../../machines/ids.ts";
import type { TurnPorts } from "../../../machines/turn/turn.machine.ts";
import type { Resident } from "../resident.ts";
import type { World } from "../world.ts";
import { makeRoom } from "./make-room.ts";

/** How long a turn waits for a summary, unless the settings say otherwise; its making goes on for the next time. */
const WAIT_MS = 1_800;

/** Runs the compaction chart beside the turn that waits for it, and tells what came of it. */
export function compact(resident: Resident, world: World): TurnPorts["compact"] {
  return async ({ turnId, room, mayAsk, isNews }, signal) => {
    await resident.lease.hold(signal);
    signal.throwIfAborted();
    const run = resident.running(turnId);
    const deadline = world.clock.now() + (world.settings.compactionMs ?? WAIT_MS);
    let isShown = false;
    const onBegin = () => {
      if (!isShown) resident.audience.show("compaction_started", {}, turnId);
      isShown = true;
    };
    const chart = wireCompaction(makeRoom(resident, world, run, onBegin));
    const actor = createActor(chart, { input: { room, mayAsk, deadline } });
    const stop = () => actor.stop();
    signal.addEventListener("abort", stop, { once: true });
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    let done: Compacted;
    try {
      const end = toPromise(actor);
      actor.start();
      done = await Promise.race([end, aborted]);
    } catch (error) {
      // Whatever ends the turn, clients were told that this began.
      if (isShown) showEnd(resident, turnId, room, { outcome: "failed", room, asked: false });
      throw error;
    } finally {
      signal.removeEventListener("abort", stop);
    }
    // What could not be stored is not there: the chain is broken, and the turn can't go on either.
    await resident.flush();
    signal.throwIfAborted();
    if (isShown) showEnd(resident, turnId, room, done);
    record(resident, world, turnId, room, done, isNews);
    return done;
  };
}

function showEnd(resident: Resident, turnId: TurnId, before: Room, { outcome, room }: Compacted): void {
  const data = { outcome, tokens_before: before.used, tokens_after: room.used };
  resident.audience.show("compaction_finished", data, turnId);
}

function record(
  resident: Resident,
  { observe }: World,
  turnId: TurnId,
  before: Room,
  { outcome, room, reason, by }: Compacted,
  isNews: boolean,
): void {
  const turn = { sessionId: resident.id, turnId };
  observe({
    type: "compaction.finished",
    ...turn,
    outcome,
    tokensBefore: before.used,
    tokensAfter: room.used,
    ...(by !== undefined && { by }),
    ...(reason !== undefined && { reason }),
  });
  if (!isNews || !isOverThreshold(room)) return;
  const { used, reserve, window } = room;
  observe({ type: "context_near_limit", ...turn, used, reserve, window });
}
