import type { Scene } from "../scene.ts";

/** A sub-agent has one task: what it is told later ("go on", "your budget is spent") opens nothing new. */
export function whole(scene: Scene): Scene {
  const all = [...scene.past, scene.now];
  const first = all[0] ?? scene.now;
  return { ...scene, past: [], now: { ...first, done: all.flatMap(({ done }) => done) } };
}

/** What a line of the task quotes behind `label`; undefined when it has no such line. */
export function quotedIn(task: string, label: RegExp): string | undefined {
  const json = new RegExp(`${label.source} ("(?:[^"\\\\]|\\\\.)*")`).exec(task)?.[1];
  if (json === undefined) return undefined;
  try {
    const read: unknown = JSON.parse(json);
    return typeof read === "string" ? read : undefined;
  } catch {
    return undefined; // no quotation after all
  }
}
