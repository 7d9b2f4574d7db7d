import type { IQueueBackend } from "bullmq";
import type { Clock } from "../../machines/effects.ts";

const CLOSING_MS = 1_000;

type Closable = {
  close(): Promise<void>;
  getBackend(): Pick<IQueueBackend, "close">;
};

/**
 * Closes a reader or a worker also while the far end is away: BullMQ's own way waits until it has answered once. What
 * fails then is of no interest any more.
 */
export async function closeSoon(one: Closable, clock: Clock, withinMs = CLOSING_MS): Promise<void> {
  const over = new AbortController();
  const closing = one.close().catch(() => {});
  await Promise.race([closing, clock.sleep(withinMs, over.signal).catch(() => {})]);
  over.abort();
  const forced = one
    .getBackend()
    .close(true)
    .catch(() => {});
  await Promise.race([forced, clock.sleep(CLOSING_MS).catch(() => {})]);
}
