import { Failure } from "../../../machines/failure.ts";
import type { Resident } from "../resident.ts";
import type { World } from "../world.ts";

/** The turn was taken over and its login is not stored (`GRANTS=off`), or the grant is over. */
export class AuthRequired extends Failure {
  readonly code = "auth_required";
  readonly retryable = true;
  constructor() {
    super("this turn has no login to act with any more; send the message again");
  }
}

/** The platform refused the login: clients get a new cookie, and no stored one of this session acts any more. */
export async function loginEnded(resident: Resident, world: World): Promise<void> {
  resident.audience.tell("auth_expired", {});
  await world.store.grants.revoke(resident.id);
}
