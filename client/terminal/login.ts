import { Failure } from "../../machines/failure.ts";
import { Unreachable } from "../errors.ts";

/** The server did not accept the user. */
export class LoginFailed extends Failure {
  readonly code = "login_failed";
  readonly retryable = false;
}

/** The demo login: gives the cookie header that the server wants to see from then on. */
export async function login(url: string, user: string): Promise<string> {
  const answer = await fetch(`${url}/login?user=${encodeURIComponent(user)}`, { redirect: "manual" }).catch(
    (cause: unknown) => {
      throw new Unreachable(`no server answers at ${url}; start it with: npm start`, { cause });
    },
  );
  const cookies = answer.headers.getSetCookie().map((cookie) => cookie.split(";", 1)[0] ?? "");
  if (cookies.length > 0 && answer.status < 400) return cookies.join("; ");
  if (answer.status === 404)
    throw new LoginFailed(
      `${url} has no demo login, or no user ${user}; with a platform of your own pass --cookie-file`,
    );
  if (answer.status === 503) throw new LoginFailed(`${url} is starting or stopping (503); try again in a moment`);
  throw new LoginFailed(`${url} did not log in ${user} (status ${answer.status})`);
}
