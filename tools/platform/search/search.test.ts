import { describe, expect, test } from "vitest";
import { nameIndex } from "./names.ts";
import { ranker } from "./ranking.ts";
import { keywords, words } from "./words.ts";

describe("words", () => {
  test("[PF-10] case, accents, punctuation, thousands and plurals do not matter", () => {
    expect(words("St. John’s-Wort Extracts, 1,000 mg (Café)")).toEqual([
      "st",
      "john",
      "wort",
      "extract",
      "1000",
      "mg",
      "cafe",
    ]);
    expect(words("Saint Johns worts")).toEqual(["st", "john", "wort"]);
    expect(words("berries glasses SSRIs citrus")).toEqual(["berry", "glass", "ssri", "citrus"]);
  });

  test("[PF-10] a question of stop words keeps them", () => {
    expect(keywords("how do I cancel an order?")).toEqual(["cancel", "order"]);
    expect(keywords("what is it")).toEqual(["what", "is", "it"]);
  });
});

describe("names", () => {
  const index = nameIndex([
    { thing: "iron", names: ["iron", "Fe"] },
    { thing: "iodine", names: ["iodine", "potassium iodide"] },
    { thing: "potassium", names: ["potassium", "K"] },
    { thing: "magnesium", names: ["magnesium", "Mg"] },
    { thing: "coq10", names: ["coenzyme Q10", "CoQ10"] },
  ]);

  test.each([
    ["the environment", []],
    ["IRON!", ["iron"]],
    ["irons", ["iron"]],
    ["potassium iodide", ["iodine"]],
    ["potassium and iron", ["potassium", "iron"]],
    ["warfarin 5 mg", []],
    ["Mg", ["magnesium"]],
    ["vitamin K", []],
    ["K", ["potassium"]],
    ["Co-Q 10 100 mg", ["coq10"]],
    ["iron, iron and iron", ["iron"]],
    ["", []],
  ])("[PF-11] %j holds %j", (text, things) => {
    expect(index.find(text)).toEqual(things);
  });
});

describe("ranking", () => {
  const papers = [
    { id: 1, title: "Sleep in adults", body: "magnesium was not given" },
    { id: 2, title: "Magnesium and sleep", body: "adults slept longer" },
    { id: 3, title: "Environmental noise", body: "noise, and noise again" },
  ];
  const fields = ({ title, body }: (typeof papers)[number]) => [
    { weight: 3, text: title },
    { weight: 1, text: body },
  ];
  const ids = (question: string, leastShare = 0) =>
    ranker(papers, fields, { leastShare })
      .rank(question)
      .map(({ id }) => id);

  test("[PF-12] heavier fields and more of the question come first; nothing found is nothing", () => {
    expect(ids("magnesium for sleep")).toEqual([2, 1]);
    expect(ids("noise")).toEqual([3]);
    expect(ids("iron")).toEqual([]);
    expect(ids("")).toEqual([]);
  });

  test("[PF-12] the beginning of a word counts half, from four letters on", () => {
    expect(ids("magn")).toEqual([2, 1]);
    expect(ids("mag")).toEqual([]);
  });

  test("[PF-12] a small part of the question is no answer where a least share is asked", () => {
    expect(ids("migraine noise")).toEqual([3]);
    expect(ids("migraine noise", 0.6)).toEqual([]);
  });
});
