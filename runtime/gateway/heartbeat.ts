import type { Timers } from "./timers.ts";

export type HeartbeatOptions = {
  readonly timers: Timers;
  /** Milliseconds without a frame of ours after which `beat` is called. */
  readonly beatAfter: number;
  /** Milliseconds without a frame of the client after which `silent` is called, once. */
  readonly silenceLimit: number;
  readonly beat: () => void;
  readonly silent: () => void;
};

export interface Heartbeat {
  /** A frame of ours went out. */
  sent(): void;
  /** A frame of the client came in. */
  heard(): void;
  stop(): void;
}

/** One timer a socket: it looks when something could be due and sleeps until then, however many frames pass. */
export function startHeartbeat({ timers, beatAfter, silenceLimit, beat, silent }: HeartbeatOptions): Heartbeat {
  let lastSent = timers.now();
  let lastHeard = lastSent;
  let callOff = arm();
  let stopped = false;

  return {
    sent() {
      lastSent = timers.now();
    },
    heard() {
      lastHeard = timers.now();
    },
    stop() {
      stopped = true;
      callOff();
    },
  };

  function arm(): () => void {
    const due = Math.min(lastSent + beatAfter, lastHeard + silenceLimit);
    return timers.after(Math.max(1, due - timers.now()), look);
  }

  function look(): void {
    if (timers.now() - lastHeard >= silenceLimit) {
      stopped = true;
      silent();
      return;
    }
    if (timers.now() - lastSent >= beatAfter) beat();
    if (!stopped) callOff = arm();
  }
}
