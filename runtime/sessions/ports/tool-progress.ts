import type { ToolCall } from "../../../machines/conversation/entries.ts";
import type { ToolProgress } from "../../../tools/tool.ts";
import { NUMBERS_KEPT_FOR_ENDINGS } from "../live-turn.ts";
import type { Resident, Run } from "../resident.ts";
import type { World } from "../world.ts";

/** Between two signals of one call. */
const PAUSE_MS = 500;

/** Made once: an abort without a reason makes an exception with a stack each time. */
const ENDED = new Error("the call has ended");

type Running = {
  readonly resident: Resident;
  readonly world: World;
  readonly run: Run;
  readonly signal: AbortSignal;
};

/**
 * Shows the clients how far a call is, however fast it says so: of what comes within a pause only the newest is shown, at its end.
 * Nothing of it is stored, and after `end` nothing is shown.
 */
export function progressShown({ resident, world, run, signal }: Running, { callId, name }: ToolCall) {
  /** Made when a call first says how far it is: most never do. */
  let pause: AbortController | undefined;
  let newest: ToolProgress | undefined;
  let isPausing = false;
  let hasEnded = false;
  const isOver = () => hasEnded || signal.aborted;

  function tell(progress: ToolProgress): void {
    newest = undefined;
    resident.topUpNumbers(run.turnId);
    if (resident.audience.left > NUMBERS_KEPT_FOR_ENDINGS) {
      resident.audience.show("tool_call_progress", { call_id: callId, name, ...progress }, run.turnId);
    }
    isPausing = true;
    const goOn = () => {
      isPausing = false;
      if (newest && !isOver()) tell(newest);
    };
    pause ??= new AbortController();
    world.clock.sleep(PAUSE_MS, AbortSignal.any([signal, pause.signal])).then(goOn, () => undefined);
  }

  return {
    show(progress: ToolProgress): void {
      if (isOver()) return;
      if (isPausing) newest = progress;
      else tell(progress);
    },
    end(): void {
      hasEnded = true;
      pause?.abort(ENDED);
    },
  };
}
