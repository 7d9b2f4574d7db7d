import { createActor } from "xstate";
import type { Ledger } from "../../machines/conversation/ledger.ts";
import type { Clock } from "../../machines/effects.ts";
import { PortsBySystem } from "../../machines/ports.ts";
import { type SessionPorts, sessionMachine } from "../../machines/session/session.machine.ts";
import type { SessionInput } from "../../machines/session/session.rules.ts";
import { type TurnPorts, turnMachine } from "../../machines/turn/turn.machine.ts";
import type { Audience } from "./audience.ts";
import { endingWith } from "./ending.ts";
import { askModel } from "./ports/ask-model.ts";
import { compact } from "./ports/compact.ts";
import { expire } from "./ports/expire.ts";
import { fallAsleep } from "./ports/fall-asleep.ts";
import { openTurn } from "./ports/open-turn.ts";
import { runTools } from "./ports/run-tools.ts";
import { settleTurn } from "./ports/settle-turn.ts";
import { Resident, type Seat } from "./resident.ts";
import type { World } from "./world.ts";

const ports = new PortsBySystem<SessionPorts & TurnPorts>();

/** Built once: every session runs on it, with ports of its own. */
const chart = sessionMachine.provide({
  actors: {
    ...ports.bind("fallAsleep", "expire"),
    turn: turnMachine.provide({ actors: ports.bind("openTurn", "askModel", "compact", "runTools", "settleTurn") }),
  },
});

/** A resident with its chart, which is not started: it has had no effect yet, so one that is not needed is let go. */
export function makeResident(
  world: World,
  seat: Seat,
  ledger: Ledger,
  audience: Audience,
  input: SessionInput,
): Resident {
  const actor = createActor(chart, { input, clock: delaysOf(world.clock) });
  const resident = new Resident(world, seat, ledger, audience, actor);
  const ending = endingWith(resident.over.signal);
  ports.give(actor, {
    fallAsleep: fallAsleep(resident, world),
    expire: expire(resident, world),
    openTurn: ending(openTurn(resident, world)),
    askModel: ending(askModel(resident, world)),
    compact: ending(compact(resident, world)),
    runTools: ending(runTools(resident, world)),
    settleTurn: ending(settleTurn(resident, world)),
  });
  return resident;
}

/** Made once: an abort without a reason makes an exception with a stack each time, here for every rest of a session. */
const NO_LONGER = new Error("the state was left");

/** The charts' delays, by the node's own clock. */
function delaysOf(clock: Clock) {
  return {
    setTimeout(run: () => void, ms: number): AbortController {
      const stop = new AbortController();
      clock.sleep(ms, stop.signal).then(run, () => undefined);
      return stop;
    },
    clearTimeout: (stop: AbortController) => stop.abort(NO_LONGER),
  };
}
