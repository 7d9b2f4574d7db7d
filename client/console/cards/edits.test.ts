import { describe, expect, test } from "vitest";
import { proposal } from "../../testing/samples.ts";
import { acceptedItems, changeItem, draftOf, editsOf, isFine, problemsOf } from "./edits.ts";

const [first, second] = proposal.items;
const one = first?.variant_id ?? "";
const two = second?.variant_id ?? "";
const untouched = draftOf(proposal);

describe("changes to a proposal", () => {
  test("a draft that nobody touched, or that only gained white space, has no edits", () => {
    expect(editsOf(proposal, untouched)).toBeUndefined();
    const spaced = changeItem({ ...untouched, title: `${proposal.title} ` }, one, { dosing: ` ${first?.dosing} ` });
    expect(editsOf(proposal, spaced)).toBeUndefined();
  });

  test("a changed dose names the whole list, also the items that stay as they are", () => {
    expect(editsOf(proposal, changeItem(untouched, two, { dosing: " half a scoop " }))).toEqual({
      items: [
        { variant_id: one, dosing: first?.dosing },
        { variant_id: two, dosing: "half a scoop" },
      ],
    });
  });

  test("a removed item is left out; put back, nothing is changed", () => {
    const without = changeItem(untouched, one, { removed: true });
    expect(editsOf(proposal, without)).toEqual({ items: [{ variant_id: two, dosing: second?.dosing }] });
    expect(editsOf(proposal, changeItem(without, one, { removed: false }))).toBeUndefined();
  });

  test("title and notes go along only where they differ; notes can be emptied", () => {
    expect(editsOf(proposal, { ...untouched, title: "Sleep" })).toEqual({ title: "Sleep" });
    expect(editsOf(proposal, { ...untouched, notes: "" })).toEqual({ notes: "" });
    const { notes: _, ...bare } = proposal;
    expect(editsOf(bare, draftOf(bare))).toBeUndefined();
  });

  test("a blank title and a kept item without a dose are problems, a removed one is none", () => {
    expect(problemsOf(untouched)).toEqual({ items: {} });
    expect(isFine(problemsOf(untouched))).toBe(true);
    const blank = changeItem({ ...untouched, title: " " }, one, { dosing: " " });
    expect(problemsOf(blank)).toEqual({
      title: "A plan needs a title.",
      items: { [one]: "Say how to take it, or remove the item." },
    });
    expect([isFine(problemsOf(blank)), isFine(problemsOf({ ...blank, title: "x" }))]).toEqual([false, false]);
    expect(problemsOf(changeItem({ ...blank, title: "x" }, one, { removed: true }))).toEqual({ items: {} });
  });
});

describe("what was accepted", () => {
  test("without edits of items, every item is as it was proposed", () => {
    const all = proposal.items.map((item) => ({ ...item, removed: false }));
    expect(acceptedItems(proposal, undefined)).toEqual(all);
    expect(acceptedItems(proposal, { title: "Other" })).toEqual(all);
  });

  test("a changed dose shows what it was before, a removed item that it is gone", () => {
    expect(acceptedItems(proposal, { items: [{ variant_id: one, dosing: "2 capsules" }] })).toEqual([
      { ...first, dosing: "2 capsules", removed: false, before: first?.dosing },
      { ...second, removed: true },
    ]);
  });
});
