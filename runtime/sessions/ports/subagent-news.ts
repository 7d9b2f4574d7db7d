import type { ToolCall } from "../../../machines/conversation/entries.ts";
import { never } from "../../../machines/failure.ts";
import type { SubagentNews } from "../../../tools/tool.ts";
import { NUMBERS_KEPT_FOR_ENDINGS } from "../live-turn.ts";
import type { Resident, Run } from "../resident.ts";

type Running = { readonly resident: Resident; readonly run: Run; readonly signal: AbortSignal };

/** Shows the clients how the sub-agent of a call stands. Nothing of it is stored. */
export function subagentShown({ resident, run, signal }: Running, { callId: call_id }: ToolCall) {
  const { audience } = resident;
  return (news: SubagentNews): void => {
    if (signal.aborted) return;
    const { subagent: kind } = news;
    switch (news.kind) {
      case "started":
      case "progress": {
        resident.topUpNumbers(run.turnId);
        if (audience.left <= NUMBERS_KEPT_FOR_ENDINGS) return;
        const label = news.label === undefined ? {} : { label: news.label };
        audience.show(`subagent_${news.kind}`, { call_id, kind, ...label }, run.turnId);
        return;
      }
      case "finished":
        audience.show("subagent_finished", { call_id, kind, outcome: news.outcome }, run.turnId);
        return;
      default:
        never(news);
    }
  };
}
