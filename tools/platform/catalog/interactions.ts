import type { Dataset, Interaction, Supplement } from "./dataset.ts";
import type { Known, KnownSupplement, Medicine, Vocabulary } from "./vocabulary.ts";

const NOT_A_PROOF = "No record here is not proof of safety.";
const BY_SEVERITY = { major: 0, moderate: 1, minor: 2 } as const;

type Source = { readonly title: string; readonly url: string; readonly year: number | null };

export type Finding = Omit<Interaction, "kind" | "drug" | "supplementId" | "sources"> & {
  readonly a: string;
  readonly b: string;
  readonly sources: readonly Source[];
};
export type InteractionCheck = {
  readonly findings: readonly Finding[];
  readonly notRecorded: readonly { a: string; b: string; note: string | null; remark: string }[];
  readonly matched: readonly { input: string; kind: Known["kind"]; id: string; name: string }[];
  readonly unknown: readonly string[];
};
export type Depletion = Omit<Finding, "a" | "b" | "evidenceLevel"> & {
  readonly drug: string;
  readonly nutrient: string;
};

export type InteractionBook = {
  /** Every drug × supplement pair of the recognised items, either as a finding (worst first) or as not recorded. */
  check(items: readonly string[]): InteractionCheck;
  /** Nutrients that the recognised medications deplete, worst first. */
  depletions(medications: readonly string[]): { depletions: readonly Depletion[]; unknown: readonly string[] };
};

export function interactionBook(data: Dataset, names: Vocabulary): InteractionBook {
  const nutrient = new Map(data.supplements.map((supplement: Supplement) => [supplement.id, supplement.name]));
  const recognise = (items: readonly string[]) =>
    items.map((input) => ({ input, known: names.everything.find(input) }));

  const negativeNote = (medicine: Medicine, supplement: KnownSupplement): string | null => {
    const record = data.negatives.find(
      ({ drug, supplementId }) => supplementId === supplement.id && medicine.records.has(drug.name),
    );
    return record === undefined ? null : [record.finding, record.note].filter((part) => part !== null).join(" ");
  };

  return {
    check(items) {
      const recognised = recognise(items);
      const known = unique(recognised.flatMap((item) => item.known));
      const findings = new Map<string, Finding>();
      const notRecorded: { a: string; b: string; note: string | null; remark: string }[] = [];
      for (const medicine of known.filter(isMedicine))
        for (const supplement of known.filter(isSupplement)) {
          const records = data.interactions.filter(
            (record) =>
              record.kind === "interaction" &&
              record.supplementId === supplement.id &&
              medicine.records.has(record.drug.name),
          );
          for (const record of records) findings.set(record.id, finding(record, supplement.name));
          if (records.length > 0) continue;
          const note = negativeNote(medicine, supplement);
          notRecorded.push({ a: medicine.name, b: supplement.name, note, remark: NOT_A_PROOF });
        }
      return {
        findings: worstFirst([...findings.values()]),
        notRecorded,
        matched: recognised.flatMap(({ input, known }) =>
          known.map(({ kind, id, name }) => ({ input, kind, id, name })),
        ),
        unknown: recognised.filter((item) => item.known.length === 0).map((item) => item.input),
      };
    },

    depletions(medications) {
      const recognised = recognise(medications).map(({ input, known }) => ({ input, known: known.filter(isMedicine) }));
      const asked = new Set(recognised.flatMap(({ known }) => known.flatMap(({ records }) => [...records])));
      const records = data.interactions.filter(({ kind, drug }) => kind === "depletion" && asked.has(drug.name));
      return {
        depletions: worstFirst(
          records.map((record) => {
            const { a, b, evidenceLevel, ...rest } = finding(record, nutrient.get(record.supplementId) ?? "");
            return { ...rest, drug: a, nutrient: b };
          }),
        ),
        unknown: recognised.filter((item) => item.known.length === 0).map((item) => item.input),
      };
    },
  };
}

const isMedicine = (known: Known): known is Medicine => known.kind !== "supplement";
const isSupplement = (known: Known): known is KnownSupplement => known.kind === "supplement";
const unique = <T>(items: readonly T[]): readonly T[] => [...new Set(items)];

function worstFirst<T extends { severity: keyof typeof BY_SEVERITY }>(items: readonly T[]): readonly T[] {
  return [...items].sort((left, right) => BY_SEVERITY[left.severity] - BY_SEVERITY[right.severity]);
}

function finding({ kind, drug, supplementId, sources, ...record }: Interaction, supplement: string): Finding {
  return { ...record, a: drug.name, b: supplement, sources: sources.map(source) };
}

/** The data names a file in a public repository as `owner/repo:path`; readers get an address that opens. */
function source({ title, address, year }: Interaction["sources"][number]): Source {
  const [, repository, path] = /^([\w.-]+\/[\w.-]+):(.+)$/.exec(address) ?? [];
  const url = repository === undefined ? address : `https://github.com/${repository}/blob/HEAD/${path}`;
  return { title, url, year: year ?? null };
}
