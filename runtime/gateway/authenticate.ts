import { createHash } from "node:crypto";
import { z } from "zod";
import { userId } from "../../machines/ids.ts";
import type { Principal } from "../../machines/principal.ts";
import type { Log } from "../observe/log.ts";
import { systemTimers, type Timers } from "./timers.ts";

/** What the platform says of a cookie. `unreachable`: it said nothing that can be relied on. */
export type Authentication =
  | { readonly kind: "principal"; readonly principal: Principal }
  | { readonly kind: "no_login" }
  | { readonly kind: "unreachable" };

/** Never rejects. */
export type Authenticator = (cookie: string) => Promise<Authentication>;

export type AuthenticatorOptions = {
  readonly platformUrl: string;
  readonly log: Log;
  readonly timers?: Timers;
  readonly timeoutMs?: number;
  /** How long a good answer is kept; at most 5 s. */
  readonly cacheMs?: number;
};

const sessionBody = z.object({
  user_id: z.string().min(1).max(200),
  name: z.string(),
  flags: z.array(z.string()),
  preferences: z.record(z.string(), z.unknown()),
  expires_at: z.union([z.iso.datetime({ offset: true }), z.number()]).optional(),
});

const NO_LOGIN: Authentication = { kind: "no_login" };
const UNREACHABLE: Authentication = { kind: "unreachable" };
const MAX_KEPT = 1_000;

/** Asks the platform's session endpoint with the caller's cookie and nothing else of the caller. */
export function platformAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { platformUrl, log, timers = systemTimers, timeoutMs = 5_000 } = options;
  const cacheMs = Math.min(options.cacheMs ?? 3_000, 5_000);
  const kept = new Map<string, { readonly until: number; readonly answer: Promise<Authentication> }>();

  return async (cookie) => {
    if (cookie === "") return NO_LOGIN;
    const key = createHash("sha256").update(cookie).digest("base64");
    const known = kept.get(key);
    if (known !== undefined && timers.now() < known.until) return whileItLasts(await known.answer, timers.now());
    const answer = ask(cookie);
    const entry = { until: timers.now() + cacheMs, answer };
    kept.delete(key);
    kept.set(key, entry);
    for (const oldest of kept.keys()) if (kept.size > MAX_KEPT) kept.delete(oldest);
    const result = await answer;
    // Only a login is kept; a refusal may be over the moment after, and an outage should end when it ends.
    if (result.kind !== "principal" && kept.get(key) === entry) kept.delete(key);
    return whileItLasts(result, timers.now());
  };

  async function ask(cookie: string): Promise<Authentication> {
    try {
      const response = await fetch(`${platformUrl}/session`, {
        headers: { cookie, accept: "application/json" },
        redirect: "manual",
        signal: AbortSignal.timeout(timeoutMs),
      });
      if (response.status === 200) return { kind: "principal", principal: toPrincipal(await response.json()) };
      await response.body?.cancel();
      if (response.status === 401) return NO_LOGIN;
      log.warn("the platform's session endpoint gave an unexpected status", { status: response.status });
    } catch (err) {
      log.warn("the platform's session endpoint did not answer as the contract says", { err });
    }
    return UNREACHABLE;
  }
}

function whileItLasts(answer: Authentication, now: number): Authentication {
  return answer.kind === "principal" && (answer.principal.expiresAt ?? Infinity) <= now ? NO_LOGIN : answer;
}

function toPrincipal(body: unknown): Principal {
  const { user_id, name, flags, preferences, expires_at } = sessionBody.parse(body);
  const principal = { userId: userId(user_id), name, flags, preferences };
  return expires_at === undefined ? principal : { ...principal, expiresAt: new Date(expires_at).getTime() };
}
