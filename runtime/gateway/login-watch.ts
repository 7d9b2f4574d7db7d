import { never } from "../../machines/failure.ts";
import type { Caller } from "../sessions/conversations.ts";
import type { Authenticator } from "./authenticate.ts";
import type { Timers } from "./timers.ts";

export type LoginWatchOptions = {
  readonly timers: Timers;
  readonly authenticate: Authenticator;
  readonly caller: Caller;
  /** Milliseconds between two looks at an idle socket. */
  readonly recheckAfter: number;
  /** A command needs a login that was seen at most this many milliseconds ago. */
  readonly freshFor: number;
  readonly changed: (caller: Caller) => void;
  /** Called once. `someone_else`: the cookie names another user now. */
  readonly ended: (why: "expired" | "someone_else") => void;
};

export interface LoginWatch {
  /** True when the login was seen a moment ago; else `ask` first. */
  isFresh(): boolean;
  /** Whether commands may go on. A platform that can't be reached does not end a login. */
  ask(): Promise<boolean>;
  stop(): void;
}

/** Keeps looking whether the login behind a socket still lives, at the latest when the platform said it would end. */
export function watchLogin(options: LoginWatchOptions): LoginWatch {
  const { timers, authenticate, recheckAfter, freshFor, changed, ended } = options;
  let caller = options.caller;
  let seenAt = timers.now();
  let running: Promise<boolean> | undefined;
  let over = false;
  let callOff = arm();

  return { isFresh, ask, stop };

  function isFresh(): boolean {
    return !over && timers.now() - seenAt < freshFor && timers.now() < expiry();
  }

  function ask(): Promise<boolean> {
    running ??= look().finally(() => {
      running = undefined;
    });
    return running;
  }

  function stop(): void {
    over = true;
    callOff();
  }

  function arm(): () => void {
    const wait = Math.min(recheckAfter, Math.max(1, expiry() - timers.now()));
    return timers.after(wait, () => {
      void ask().then((alive) => {
        if (alive) callOff = arm();
      });
    });
  }

  async function look(): Promise<boolean> {
    const answer = await authenticate(caller.credential.cookie);
    if (over) return false;
    switch (answer.kind) {
      case "principal":
        if (answer.principal.userId !== caller.principal.userId) return end("someone_else");
        seenAt = timers.now();
        adopt({ ...caller, principal: answer.principal });
        return true;
      case "no_login":
        return end("expired");
      case "unreachable":
        return timers.now() < expiry() ? true : end("expired");
      default:
        return never(answer);
    }
  }

  function adopt(next: Caller): void {
    const isNew = JSON.stringify(next.principal) !== JSON.stringify(caller.principal);
    caller = next;
    if (isNew) changed(next);
  }

  function end(why: "expired" | "someone_else"): false {
    stop();
    ended(why);
    return false;
  }

  function expiry(): number {
    return caller.principal.expiresAt ?? Infinity;
  }
}
