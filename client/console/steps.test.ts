import { expect, test } from "vitest";
import type { BlockView } from "../view.ts";
import { answerBlocks, stepNow, stepsOf, stepsTaken } from "./steps.ts";

const block = (id: string, type: string, content: BlockView["content"] = {}, finished = true): BlockView => ({
  block_id: id,
  idx: 0,
  type,
  content,
  attempt: 1,
  finished,
});
const sources = (id: string, ...ids: string[]) =>
  block(id, "citations", {
    sources: ids.map((one) => ({ id: one, title: one, year: null, journal: null, url: null, finding: "" })),
  });
const step = (name: string, outcome?: string) => ({ call_id: name, name, title: name, ...(outcome && { outcome }) });
const ids = (blocks: readonly BlockView[]) => blocks.map(({ block_id }) => block_id);

test("the sources found give way to those that were cited of them; thoughts are no part of the answer", () => {
  const found = sources("found", "a", "b", "c");
  expect(ids(answerBlocks([block("t", "thinking"), found, sources("cited", "b"), block("x", "text")]))).toEqual([
    "cited",
    "x",
  ]);
});

test("sources that are not all repeated stay, also beside a list that is still empty", () => {
  const found = sources("found", "a", "b");
  expect(ids(answerBlocks([found, sources("other", "b", "z"), sources("empty"), block("new", "citations")]))).toEqual([
    "found",
    "other",
    "empty",
    "new",
  ]);
});

test("the line of a running turn says the step at hand", () => {
  const writing = block("x", "text", { text: "So" }, false);
  expect([
    stepNow({ activity: [], blocks: [] }),
    stepNow({ activity: [step("patient_search", "ok"), step("interaction_check")], blocks: [] }),
    stepNow({ activity: [step("patient_search", "ok")], blocks: [writing] }),
    stepNow({ activity: [step("patient_search", "ok")], blocks: [{ ...writing, finished: true }] }),
    stepNow({ activity: [step("patient_search", "error")], blocks: [] }),
  ]).toEqual(["Thinking…", "Interaction check…", "Answering…", "Patient search…", "Thinking…"]);
});

test("failed look-ups are said without opening the list; loading a skill is told by the skill", () => {
  const activity = [step("load_skill", "ok"), step("patient_get", "error")];
  expect(stepsOf({ activity, skills: ["propose-plan"] })).toEqual([step("patient_get", "error")]);
  expect(stepsOf({ activity, skills: [] })).toEqual(activity);
  expect([stepsTaken({ activity }), stepsTaken({ activity: [] })]).toEqual([
    "How this was answered (2 steps), 1 failed",
    "How this was answered",
  ]);
});
