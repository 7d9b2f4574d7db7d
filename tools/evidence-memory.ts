import { z } from "zod";

const study = z.object({
  id: z.string(),
  title: z.string(),
  year: z.number().nullish(),
  journal: z.string().nullish(),
  url: z.string().nullish(),
  finding: z.string(),
});
const searched = z.object({ evidence: z.array(study) });

/** A study as `evidence_search` gives it, as far as citations need it. */
export type Study = z.infer<typeof study>;

/** The studies of an evidence_search result; none when it is of another shape. */
export function studiesIn(data: unknown): readonly Study[] {
  return searched.safeParse(data).data?.evidence ?? [];
}

/** Studies that one user's searches gave lately, so that they can be cited by id. Lost with the process: a search finds them again. */
export class EvidenceMemory {
  readonly #studies = new Map<string, Study>();

  note(studies: readonly Study[]): void {
    for (const one of studies) {
      this.#studies.delete(one.id);
      this.#studies.set(one.id, one);
    }
    for (const oldest of this.#studies.keys()) {
      if (this.#studies.size <= 200) break;
      this.#studies.delete(oldest);
    }
  }

  find(id: string): Study | undefined {
    return this.#studies.get(id);
  }
}
