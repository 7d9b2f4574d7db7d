import { OwnershipLost, SessionBroken } from "../../persistence/store.ts";
import { Refused } from "./conversations.ts";

/** Ownership that was lost mid-way and other faults as the client may see them. */
export function refusalOf(error: unknown): Refused {
  if (error instanceof Refused) return error;
  if (error instanceof OwnershipLost) {
    return new Refused("unavailable", "this session is being moved; try again in a moment", {
      retryable: true,
      cause: error,
    });
  }
  if (error instanceof SessionBroken) {
    return new Refused("session_unavailable", "this conversation can't be read right now", { cause: error });
  }
  return new Refused("unavailable", "the service can't store this right now; try again in a moment", {
    retryable: true,
    cause: error,
  });
}
