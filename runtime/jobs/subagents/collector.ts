import { type Study, studiesIn } from "../../../tools/evidence-memory.ts";

/** A study that a search gave: what a citation needs, and the whole record. */
export type Found = { readonly study: Study; readonly record: unknown };

/** What one research agent's searches gave. It lies outside of its model: ids are chosen from here, never written by hand. */
export class ResearchCollector {
  readonly #most: number;
  readonly #queries: { query: string; found: number }[] = [];
  readonly #found = new Map<string, Found>();
  #characters = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Counts a query before it leaves; false when there were enough. */
  begin(query: string): boolean {
    if (this.#queries.length >= this.#most) return false;
    this.#queries.push({ query, found: 0 });
    return true;
  }

  /** `text` is what the sub-agent's model read of the result. */
  note(query: string, text: string, data: unknown): void {
    const studies = studiesIn(data);
    const records = recordsIn(data);
    this.#characters += text.length;
    const counted = this.#queries.find((one) => one.query === query);
    if (counted !== undefined) counted.found = studies.length;
    for (const [at, study] of studies.entries())
      if (!this.#found.has(study.id)) this.#found.set(study.id, { study, record: records[at] ?? study });
  }

  find(id: string): Found | undefined {
    return this.#found.get(id);
  }

  get queries(): readonly { readonly query: string; readonly found: number }[] {
    return this.#queries.map((one) => ({ ...one }));
  }

  /** Each study once, in the order in which it was found. */
  get found(): readonly Found[] {
    return [...this.#found.values()];
  }

  /** Characters of all results that its model read. */
  get characters(): number {
    return this.#characters;
  }
}

function recordsIn(data: unknown): readonly unknown[] {
  const evidence = typeof data === "object" && data !== null && "evidence" in data ? data.evidence : undefined;
  return Array.isArray(evidence) ? evidence : [];
}
