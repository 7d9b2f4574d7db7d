import type { Port } from "../../machines/ports.ts";

/**
 * Ends ports with `over`, also those whose state was not left: a chart that crashed leaves its turn's chart running, and
 * XState has no way to stop that. `AbortSignal.any` would do, but costs twice as much, for us and for the collector.
 */
export function endingWith(over: AbortSignal): <In, Out>(port: Port<In, Out>) => Port<In, Out> {
  const running = new Set<AbortController>();
  over.addEventListener("abort", () => {
    for (const stop of running) stop.abort(over.reason);
  });
  return (port) => async (given, left) => {
    over.throwIfAborted();
    const stop = new AbortController();
    const leave = (): void => stop.abort(left.reason);
    if (left.aborted) leave();
    left.addEventListener("abort", leave);
    running.add(stop);
    try {
      return await port(given, stop.signal);
    } finally {
      running.delete(stop);
      left.removeEventListener("abort", leave);
    }
  };
}
