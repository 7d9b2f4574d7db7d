import type { Entry } from "../machines/conversation/entries.ts";
import type { Skills } from "./registry.ts";

const HEAD = /^<skill name="([a-z0-9_-]+)" version="([0-9a-f]+)">\n/;

/**
 * Names of the skills whose present text lies in these entries (history since the anchor). A body that an edit, a flag or a compaction
 * has made old or removed does not count, so that `load_skill` gives it in full again.
 */
export function loadedSkills(entries: readonly Entry[], skills: Skills, flags: readonly string[]): Set<string> {
  const loaded = new Set<string>();
  for (const entry of entries) {
    for (const text of bodiesOf(entry)) {
      const [, name, version] = HEAD.exec(text) ?? [];
      if (name !== undefined && version === skills.version(name, flags)) loaded.add(name);
    }
  }
  return loaded;
}

const NONE: readonly string[] = [];

/** A body comes as a result of `load_skill`, or with the message of an entry point. Most entries have none. */
function bodiesOf(entry: Entry): readonly string[] {
  if (entry.kind === "user") return entry.skills?.map(({ body }) => body) ?? NONE;
  return entry.kind === "tool_result" && entry.name === "load_skill" && entry.outcome === "ok" ? [entry.text] : NONE;
}
