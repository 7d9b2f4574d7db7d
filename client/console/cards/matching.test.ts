import { expect, test } from "vitest";
import { matching, nameAndBirth } from "./matching.ts";

const ann = { id: "pat-1", label: "Ánn Lee, born 1970-01-02" };
const bob = { id: "pat-2", label: "Bob Leeds", detail: "ward 3" };

test("words in any order, without accents or case, in label, detail and id", () => {
  expect(matching([ann, bob], "")).toEqual([ann, bob]);
  expect(matching([ann, bob], "lee")).toEqual([ann, bob]);
  expect(matching([ann, bob], " 1970  ANN ")).toEqual([ann]);
  expect(matching([ann, bob], "WARD leeds")).toEqual([bob]);
  expect(matching([ann, bob], "pat-2")).toEqual([bob]);
  expect(matching([ann, bob], "ann leeds")).toEqual([]);
});

test("a label with a date of birth is split, any other is all name", () => {
  expect(nameAndBirth(ann)).toEqual({ name: "Ánn Lee", rest: "born 1970-01-02" });
  expect(nameAndBirth(bob)).toEqual({ name: "Bob Leeds", rest: "ward 3" });
  expect(nameAndBirth({ id: "x", label: "Lee, Ann" })).toEqual({ name: "Lee, Ann", rest: "" });
});
