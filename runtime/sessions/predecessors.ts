import type { World } from "./world.ts";

/** Shorter than before a migration (`main.ts`): whoever was only slow is fenced when his epochs are raised. */
const SILENT_MS = 5_000;
const ASK_EVERY_MS = 500;

/**
 * A single node takes over from the one before. On the embedded server that one is known to be dead: we hold the data
 * folder. Else it must have been silent for five seconds; while another node is heard this one is not ready.
 */
export async function takeOverFromPredecessors(
  world: World,
  isKnownDead: boolean,
  onWaiting: (others: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const { nodes, sessions } = world.store;
  await nodes.beat(world.node);
  while (!isKnownDead) {
    const others = await nodes.others(world.node, SILENT_MS);
    if (others.length === 0) break;
    onWaiting(others.length);
    await world.clock.sleep(ASK_EVERY_MS, signal);
    await nodes.beat(world.node);
  }
  await sessions.raiseAll(world.node);
}
