import type { Clock } from "../machines/effects.ts";
import type { Calls, ModelCallRow } from "./store.ts";

const WAIT_MS = 250;
const MOST_ROWS = 500;

/** Telemetry of all sessions in one statement every so often, away from the turns that it tells of. */
export function batchedCalls(calls: Calls, clock: Clock): Calls & { flush(): Promise<void> } {
  let waiting: ModelCallRow[] = [];
  let soon: Promise<void> | undefined;
  let hurry = new AbortController();
  const unsent = new Set<Promise<void>>();

  const send = async (): Promise<void> => {
    await clock.sleep(WAIT_MS, hurry.signal).catch(() => undefined);
    const rows = waiting;
    waiting = [];
    soon = undefined;
    hurry = new AbortController();
    await calls.record(rows);
  };

  return {
    async record(rows) {
      if (rows.length === 0) return;
      waiting.push(...rows);
      if (!soon) {
        const sending = send().finally(() => unsent.delete(sending));
        soon = sending;
        unsent.add(sending);
      }
      if (waiting.length >= MOST_ROWS) hurry.abort();
    },
    /** Resolves when everything recorded before is stored or was reported as bad. */
    async flush() {
      if (soon) hurry.abort();
      await Promise.all(unsent);
    },
  };
}
