import { Refused } from "../sessions/conversations.ts";

/** Logs a user in; undefined when there is no such user. Rejects with `unavailable`. */
export type Login = (userId: string) => Promise<{ readonly setCookie: readonly string[] } | undefined>;

/** Demo mode: forwards a login to the reference platform and re-issues its cookies for this host. */
export function platformLogin(platformUrl: string, timeoutMs = 5_000): Login {
  return async (userId) => {
    const target = `${platformUrl}/login?user=${encodeURIComponent(userId)}`;
    const response = await fetch(target, { redirect: "manual", signal: AbortSignal.timeout(timeoutMs) }).catch(
      (cause: unknown) => {
        throw new Refused("unavailable", "the platform does not answer", { retryable: true, cause });
      },
    );
    await response.body?.cancel();
    const setCookie = response.headers.getSetCookie().map(forOwnHost);
    if (response.status < 400 && setCookie.length > 0) return { setCookie };
    if (response.status >= 500) throw new Refused("unavailable", "the platform can't log in now", { retryable: true });
    return undefined;
  };
}

/** Keeps name, value and lifetime; the platform's own domain and path mean nothing here. */
function forOwnHost(cookie: string): string {
  const [pair = "", ...attributes] = cookie.split(";").map((part) => part.trim());
  const lifetime = attributes.filter((attribute) => /^(max-age|expires)=/i.test(attribute));
  return [pair, ...lifetime, "Path=/", "HttpOnly", "SameSite=Lax"].join("; ");
}
