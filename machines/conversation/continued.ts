/**
 * `map` over lists that grow at their end: an item that a list of the same beginning had before is not mapped again, and
 * gives the very same object. Items must never change.
 */
export function continued<In extends object, Out>(map: (item: In) => Out): (items: readonly In[]) => readonly Out[] {
  type Done = { readonly items: readonly In[]; readonly results: readonly Out[] };
  /** By the first item: it lives as long as its list does. */
  const done = new WeakMap<In, Done>();
  return (items) => {
    const [first] = items;
    if (first === undefined) return [];
    const before = done.get(first);
    const results = items.map((item, at) => (before?.items[at] === item ? (before.results[at] as Out) : map(item)));
    done.set(first, { items, results });
    return results;
  };
}
