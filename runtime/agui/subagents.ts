import type { SignalData } from "../../machines/protocol/signals.ts";
import type { AguiEvent } from "./events.ts";

/** Sub-agents of one run. AG-UI wants an id that no other invocation had, and none open when the run ends. */
export class Subagents {
  readonly #emit: (event: AguiEvent) => void;
  readonly #open = new Map<string, string>();
  #count = 0;

  constructor(emit: (event: AguiEvent) => void) {
    this.#emit = emit;
  }

  start({ call_id, kind, label }: SignalData<"subagent_started">): void {
    const key = `${call_id}:${kind}`;
    if (this.#open.has(key)) return;
    this.#count += 1;
    const subagentRunId = `${key}:${this.#count}`;
    this.#open.set(key, subagentRunId);
    this.#emit({
      type: "SUBAGENT_STARTED",
      subagentRunId,
      name: kind,
      ...(label !== undefined && { description: label }),
    });
  }

  finish({ call_id, kind, outcome = "ok" }: SignalData<"subagent_finished">): void {
    const subagentRunId = this.#open.get(`${call_id}:${kind}`);
    if (subagentRunId === undefined) return;
    this.#open.delete(`${call_id}:${kind}`);
    if (outcome === "ok") this.#emit({ type: "SUBAGENT_FINISHED", subagentRunId });
    else this.#emit({ type: "SUBAGENT_ERROR", subagentRunId, message: outcome });
  }

  closeAll(): void {
    for (const subagentRunId of this.#open.values())
      this.#emit({ type: "SUBAGENT_ERROR", subagentRunId, message: "ended with the run" });
    this.#open.clear();
  }
}
