import { never } from "../../machines/failure.ts";
import type { Caller } from "../sessions/conversations.ts";
import { type Answer, refusal } from "./answer.ts";
import type { Authenticator } from "./authenticate.ts";

export type Identified =
  | { readonly kind: "caller"; readonly caller: Caller }
  | { readonly kind: "refused"; readonly answer: Answer };

/** Who sent this cookie, or the answer for someone who has no login. */
export async function identify(cookie: string, authenticate: Authenticator): Promise<Identified> {
  const answer = await authenticate(cookie);
  switch (answer.kind) {
    case "principal":
      return { kind: "caller", caller: { principal: answer.principal, credential: { cookie } } };
    case "no_login":
      return { kind: "refused", answer: refusal("auth_required", "log in first") };
    case "unreachable":
      return { kind: "refused", answer: refusal("unavailable", "the platform does not answer: try again in a moment") };
    default:
      return never(answer);
  }
}
