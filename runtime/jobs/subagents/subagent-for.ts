import { never } from "../../../machines/failure.ts";
import type { SubagentRequest } from "../../../tools/subagents.ts";
import type { Subagent, SubagentParts } from "./parts.ts";
import { planBuilder } from "./plan-builder.ts";
import { research } from "./research.ts";

/** The sub-agent of a request. Throws `SubagentNotEnabled`. */
export function subagentFor(request: SubagentRequest, parts: SubagentParts): Subagent {
  switch (request.kind) {
    case "research":
      return research(request, parts);
    case "plan_builder":
      return planBuilder(request, parts);
    default:
      return never(request);
  }
}
