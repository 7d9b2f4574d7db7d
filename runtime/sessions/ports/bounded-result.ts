import type { ToolCall } from "../../../machines/conversation/entries.ts";
import { failureCode } from "../../../machines/failure.ts";
import { bounded, RESULT_CHARACTERS } from "../../../tools/bounds.ts";
import { READ_RESULT, readHint } from "../../../tools/builtin/read-result.ts";
import type { ToolResult } from "../../../tools/tool.ts";
import type { Resident, Run } from "../resident.ts";
import type { World } from "../world.ts";

/** All results of one step together may take this share of the window. */
const STEP_SHARE = 0.15;
const CHARACTERS_PER_TOKEN = 3;
const MOST_STEP_CHARACTERS = 3 * RESULT_CHARACTERS;
/** A result that has less room than this says nothing. */
const LEAST = 1_500;

/** Characters that each of a step's results may have, whatever order they come in. */
export function shareOf(calls: number, window: number): number {
  const step = Math.min(MOST_STEP_CHARACTERS, Math.floor(window * STEP_SHARE * CHARACTERS_PER_TOKEN));
  return Math.max(LEAST, Math.min(RESULT_CHARACTERS, Math.floor(step / calls)));
}

/**
 * A result's text as it enters history. One that is too long is kept whole, once, outside of it: the model reads the
 * beginning and the end, how much is missing, and how to read the rest. The text of a skill is never shortened.
 */
export async function boundedResult(
  { resident, world, run }: { resident: Resident; world: World; run: Run },
  call: ToolCall,
  result: { readonly text: string } & Partial<Pick<Extract<ToolResult, { kind: "ok" }>, "full" | "skillLoaded">>,
  most: number,
): Promise<string> {
  const { text, full = text, skillLoaded } = result;
  if (skillLoaded !== undefined || (full === text && text.length <= most)) return text;
  const canRead = call.name !== READ_RESULT && run.capabilities.toolbox.find(READ_RESULT) !== undefined;
  if (!canRead) return bounded(full, most);
  try {
    const { callId } = call;
    await resident.patiently(() =>
      world.store.results.keep(resident.fence, { turnId: run.turnId, callId, text: full }),
    );
    return bounded(full, most, readHint(callId));
  } catch (error) {
    // A stale owner finds out with its next append; here the rest of the result is simply out of reach.
    const turn = { sessionId: resident.id, turnId: run.turnId };
    world.observe({ type: "result.unkept", ...turn, tool: call.name, code: failureCode(error) });
    return bounded(full, most);
  }
}
