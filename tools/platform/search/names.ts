/**
 * Finds the names of things in free text: "Warfarin (Coumadin) 5 mg" holds warfarin, "environment" holds no iron. Names are
 * compared word by word without case, punctuation, spaces and plurals; the longest name wins, so "potassium iodide" is iodine.
 */
import { words } from "./words.ts";

export type NamedThing<T> = { readonly thing: T; readonly names: readonly string[] };

export type NameIndex<T> = {
  /** Things whose names occur in `text`, in order of appearance, each once. */
  find(text: string): readonly T[];
};

/** A name of up to two letters ("K", "Mg") is also a unit or an initial: it counts only when it is the whole text. */
const isSymbol = (name: string): boolean => /^\p{Letter}{1,2}$/u.test(name);

export function nameIndex<T>(things: readonly NamedThing<T>[]): NameIndex<T> {
  const byName = new Map<string, T[]>();
  let longest = 1;
  for (const { thing, names } of things)
    for (const name of names) {
      const parts = words(name);
      if (parts.length === 0) continue;
      longest = Math.max(longest, parts.length);
      const known = byName.get(parts.join("")) ?? [];
      if (!known.includes(thing)) known.push(thing);
      byName.set(parts.join(""), known);
    }

  return {
    find(text) {
      const parts = words(text);
      const taken = parts.map(() => false);
      const hits: { at: number; things: readonly T[] }[] = [];
      // A name may be written with a space more than ours ("co q 10"), hence one word beyond the longest.
      for (let size = Math.min(longest + 1, parts.length); size > 0; size -= 1)
        for (let at = 0; at + size <= parts.length; at += 1) {
          if (taken.slice(at, at + size).includes(true)) continue;
          const name = parts.slice(at, at + size).join("");
          const known = byName.get(name);
          if (known === undefined || (isSymbol(name) && size < parts.length)) continue;
          taken.fill(true, at, at + size);
          hits.push({ at, things: known });
        }
      return [...new Set(hits.sort((left, right) => left.at - right.at).flatMap((hit) => hit.things))];
    },
  };
}
