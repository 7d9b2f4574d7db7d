import { describe, expect, test } from "vitest";
import { catalog } from "./catalog.ts";
import { loadDataset } from "./dataset.ts";
import { interactionBook } from "./interactions.ts";
import { vocabulary } from "./vocabulary.ts";

const data = loadDataset();
const names = vocabulary(data);
const book = interactionBook(data, names);
const shop = catalog(data, names);

const findingIds = (drug: string, supplement: string) => book.check([drug, supplement]).findings.map(({ id }) => id);

describe("interactions", () => {
  const recorded = data.interactions.filter(({ kind }) => kind === "interaction");

  test("[PF-20] every record is found by each name of its drug with each name of its supplement", () => {
    const missed = recorded.flatMap(({ id, drug, supplementId }) =>
      [drug.name, ...drug.synonyms].flatMap((drugName) =>
        names
          .supplementNames(supplementId)
          .filter((supplement) => !findingIds(drugName.toUpperCase(), supplement).includes(id))
          .map((supplement) => `${id}: ${drugName} with ${supplement}`),
      ),
    );
    expect(missed).toEqual([]);
  });

  test("[PF-21] every negative pair comes back as not recorded, with what is known about it", () => {
    for (const { drug, supplementId, finding, note } of data.negatives)
      for (const drugName of [drug.name, ...drug.synonyms])
        for (const supplement of names.supplementNames(supplementId)) {
          const { findings, notRecorded, unknown } = book.check([drugName, supplement]);
          expect({ drugName, supplement, findings, unknown }).toEqual({
            drugName,
            supplement,
            findings: [],
            unknown: [],
          });
          expect(notRecorded.map((pair) => pair.note)).toEqual([note === null ? finding : `${finding} ${note}`]);
        }
  });

  test("[PF-22] each pair is a finding or not recorded; strangers are named", () => {
    const answer = book.check(["Zocor 20 mg", "creatine", "fish oil", "niacin", "moon dust"]);
    expect(answer.findings.map(({ a, b }) => [a, b])).toEqual([["simvastatin", "Niacin (vitamin B3)"]]);
    expect(answer.notRecorded).toEqual([
      { a: "simvastatin", b: "Creatine", note: null, remark: "No record here is not proof of safety." },
      { a: "simvastatin", b: "Omega-3 (EPA and DHA)", note: null, remark: "No record here is not proof of safety." },
    ]);
    expect(answer.matched.map(({ input, kind, id }) => [input, kind, id])).toEqual([
      ["Zocor 20 mg", "drug", "simvastatin"],
      ["creatine", "supplement", "creatine"],
      ["fish oil", "supplement", "omega-3"],
      ["niacin", "supplement", "niacin"],
    ]);
    expect(answer.unknown).toEqual(["moon dust"]);
  });

  test("[PF-23] a drug class asks for its members, worst first", () => {
    const { findings, matched } = book.check(["SSRIs", "St. John's wort"]);
    expect(findings.map(({ a }) => a).sort()).toEqual(["escitalopram", "fluoxetine", "sertraline"]);
    expect(matched[0]?.kind).toBe("drug_class");
    const severities = book.check(["warfarin", "vitamin K2", "ginger", "cranberry"]).findings.map((f) => f.severity);
    expect(severities).toEqual([...severities].sort((a, b) => rank(a) - rank(b)));
  });

  test.each([
    ["environment", "warfarin"],
    ["calcium channel blocker", "levothyroxine"],
    ["vitamin K antagonist", "warfarin"],
    ["iron chelator", "levothyroxine"],
  ])("[PF-24] %s is not a supplement", (item, drug) => {
    expect(book.check([item, drug]).matched.filter(({ kind }) => kind === "supplement")).toEqual([]);
  });

  test("[PF-25] every depletion is found by each name of its drug", () => {
    const missed = data.interactions
      .filter(({ kind }) => kind === "depletion")
      .flatMap(({ id, drug }) =>
        [drug.name, ...drug.synonyms]
          .filter((name) => !book.depletions([name]).depletions.some((depletion) => depletion.id === id))
          .map((name) => `${id}: ${name}`),
      );
    expect(missed).toEqual([]);
    expect(book.depletions(["zinc", "xyz"]).unknown).toEqual(["zinc", "xyz"]);
  });
});

const rank = (severity: "major" | "moderate" | "minor") => ["major", "moderate", "minor"].indexOf(severity);

describe("searches", () => {
  const products = (query: string) => shop.products({ query, limit: 3 }).products.map(({ name }) => name);

  test("[PF-30] form, brand and synonym decide the order of products", () => {
    expect(products("magnesium oxide")[0]).toBe("Magnesium Oxide 400 mg");
    expect(products("vitamin k2 mk-7")[0]).toBe("Vitamin K2 MK-7 100 mcg");
    expect(products("Fish oil")[0]).toBe("Omega-3 1000 mg EPA/DHA");
    expect(shop.products({ query: "quillfen magnesium", limit: 1 }).products[0]?.brand).toBe("Quillfen Labs");
  });

  test("[PF-30] a search that names a supplement gives only products with it", () => {
    const { products: found, total } = shop.products({ query: "iron bisglycinate", limit: 50 });
    expect(found).toHaveLength(total);
    expect(found.filter(({ supplementIds }) => !supplementIds.includes("iron"))).toEqual([]);
    expect(products("environment")).toEqual([]);
  });

  test("[PF-31] filters narrow; variants come back in the order asked, whatever the limit", () => {
    const variantIds = data.products.slice(0, 12).map((product) => product.availableOrMasterVariant.id);
    const asked = [...variantIds].reverse();
    const page = shop.products({ variantIds: [...asked, "var-none"], limit: 1 });
    expect(page.products.map((product) => product.availableOrMasterVariant.id)).toEqual(asked);
    const powders = shop.products({ supplementId: "magnesium", form: "Powders", inStock: true, limit: 9 });
    expect(powders.products.map(({ name }) => name)).toEqual(["Magnesium Citrate Powder 300 mg"]);
    expect(shop.products({ supplementId: "no such thing", limit: 9 })).toEqual({ products: [], total: 0 });
  });

  test("[PF-32] evidence is about what was asked", () => {
    const cited = shop.evidence("ev-070 ev-001, ev-9999", 8).evidence.map(({ id }) => id);
    expect(cited).toEqual(["ev-001", "ev-070"]);
    const [first] = shop.evidence("magnesium insomnia older adults", 3).evidence;
    expect(first?.title).toContain("magnesium supplementation for insomnia in older adults");
    expect(shop.evidence("migraine prevention", 5)).toEqual({ evidence: [], total: 0 });
    const { evidence } = shop.evidence("ashwagandha for stress", 50);
    expect(evidence.filter(({ supplements }) => !supplements.includes("ashwagandha"))).toEqual([]);
  });

  test("[PF-33] patients are found by name, beginning, id, condition and brand name; blank lists all", () => {
    const ids = (query: string) => shop.patients(query, 50).patients.map(({ id }) => id);
    expect(ids("vantreight")).toEqual(["pat-001"]);
    expect(ids("Tob")).toEqual(["pat-002"]);
    expect(ids("pat-003")).toEqual(["pat-003"]);
    expect(ids("Coumadin")).toEqual(["pat-002"]);
    expect(ids("diabetes")).toEqual(["pat-001", "pat-008"]);
    expect(ids(" ")).toHaveLength(12);
  });

  test("[PF-34] labs and articles", () => {
    const lab = (query: string) => shop.labs({ query, limit: 1 }).labs[0]?.id;
    expect([lab("A1c"), lab("TSH"), lab("vitamin D level"), lab("hs-crp"), lab("ferritin")]).toEqual([
      "hba1c",
      "tsh",
      "vitamin-d-25oh",
      "hs-crp",
      "ferritin",
    ]);
    expect(shop.labs({ limit: 5 }).total).toBe(47);
    expect(shop.articles("how do I cancel an order", 1).articles[0]?.id).toBe("help-change-cancel-order");
  });
});
