import { never } from "../machines/failure.ts";
import type { ProfileSettings } from "./models/profiles.ts";

const CHEAP_GEMINI = "gemini-2.5-flash";
const CHEAP_CLAUDE = "anthropic.claude-haiku-4-5-20251001-v1:0";

/**
 * The route that sums conversations up: the one that answers them, with a cheaper model of the same make, or the model
 * that the configuration names. Its window is taken to be as large.
 */
export function summaryRoute(route: ProfileSettings, model: string | undefined): ProfileSettings {
  return { ...route, name: `${route.name}-summary`, model: model ?? cheapModel(route) };
}

function cheapModel(route: ProfileSettings): string {
  switch (route.kind) {
    case "gemini":
      return CHEAP_GEMINI;
    case "bedrock": {
      // The prefix names the geography that the data stay in.
      const geography = /^([a-z-]+)\.anthropic\./.exec(route.model)?.[1];
      return geography === undefined ? route.model : `${geography}.${CHEAP_CLAUDE}`;
    }
    default:
      return never(route);
  }
}
