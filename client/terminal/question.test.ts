import { expect, test } from "vitest";
import { type AskedInteraction, answerSchema, checkResolution } from "../../machines/conversation/interactions.ts";
import { commandSchema } from "../../machines/protocol/commands.ts";
import type { PendingInteraction } from "../../machines/protocol/interactions.ts";
import { resolve } from "../commands.ts";
import { proposal, question } from "../testing/samples.ts";
import { uuid } from "../testing/signals.ts";
import { answerCommands, askedLines, type Draft, draftOf, optionIds, readTyped, type Typed } from "./question.ts";

const opened = (asked: AskedInteraction): PendingInteraction => {
  const { kind, prompt, options, proposal: proposed } = asked;
  return {
    id: uuid(7),
    revision: 1,
    kind,
    prompt,
    schema: answerSchema(asked),
    ...(options && { options: [...options] }),
    ...(proposed && { proposal: proposed }),
  };
};
const single = opened(question);
const multi = opened({ ...question, kind: "multi_choice" });
const picker = opened({ ...question, kind: "patient_picker", openEnded: true });
const plan = opened({ kind: "plan_proposal", prompt: "Store this draft?", proposal });
const [glycinate, citrate] = proposal.items.map(({ variant_id }) => variant_id);
const [doseA, doseB] = draftOf(plan);

const typed = (pending: PendingInteraction, line: string, draft: Draft = draftOf(pending)) =>
  readTyped(pending, draft, line);
const chosen = (selected: string[], text?: string): Typed => ({
  kind: "resolve",
  resolution: { kind: "answered", selected, ...(text !== undefined && { text }) },
});

test("a question is answered by number, with words of one's own after a colon", () => {
  expect([typed(single, "2"), typed(single, " 1: she asked for it "), typed(multi, "2, 1 2")]).toEqual([
    chosen(["cit"]),
    chosen(["gly"], "she asked for it"),
    chosen(["cit", "gly"]),
  ]);
});

test("a number that does not fit is never sent", () => {
  expect([typed(single, "3"), typed(single, "0"), typed(single, "1 2")]).toEqual([
    { kind: "unclear", why: "choose among 1 to 2" },
    { kind: "unclear", why: "choose among 1 to 2" },
    { kind: "unclear", why: "choose one option only" },
  ]);
});

test("anything else is a new message, also words that begin like an answer", () => {
  const said = ["2 capsules a day?", "does it help", "a plan please", "e", "= pat-9", "dismiss it"];
  expect(said.map((line) => typed(single, line).kind)).toEqual(said.map(() => "message"));
  expect(["accept", "e two 200 mg", "x 1 please", "1"].map((line) => typed(plan, line).kind)).toEqual(
    Array.from({ length: 4 }, () => "message"),
  );
});

test("a picker that is not closed takes any patient id", () => {
  expect([typed(picker, "= pat-009"), typed(picker, "2")]).toEqual([chosen(["pat-009"]), chosen(["cit"])]);
});

test("d dismisses, with a reason if there is one", () => {
  expect([typed(single, "d"), typed(plan, "d too expensive")]).toEqual([
    { kind: "resolve", resolution: { kind: "dismissed" } },
    { kind: "resolve", resolution: { kind: "dismissed", reason: "too expensive" } },
  ]);
});

test("a proposal is accepted as it is, or with the doses and items that were changed", () => {
  const edited = typed(plan, "e 2 200 mg at bedtime");
  const dropped = typed(plan, "x 1", [doseA ?? "", "200 mg at bedtime"]);
  expect([typed(plan, "a"), edited, dropped, typed(plan, "a", [null, "200 mg at bedtime"])]).toEqual([
    { kind: "resolve", resolution: { kind: "accepted" } },
    { kind: "edit", draft: [doseA, "200 mg at bedtime"] },
    { kind: "edit", draft: [null, "200 mg at bedtime"] },
    {
      kind: "resolve",
      resolution: {
        kind: "accepted",
        edits: { items: [{ variant_id: citrate, dosing: "200 mg at bedtime" }] },
      },
    },
  ]);
  expect([typed(plan, "e 3 once"), typed(plan, "e 1"), typed(plan, "x 2", [null, doseB ?? ""])]).toEqual([
    { kind: "unclear", why: "there are items 1 to 2" },
    { kind: "unclear", why: "write the dosing after the number, like: e 2 200 mg at bedtime" },
    { kind: "unclear", why: "that would leave no item; d dismisses the proposal" },
  ]);
});

test("what is sent is what the server takes", () => {
  const pairs: [PendingInteraction, string, Draft?][] = [
    [single, "2"],
    [multi, "1 2"],
    [picker, "= pat-009"],
    [plan, "a"],
    [plan, "a", ["twice daily", null]],
    [plan, "d no"],
  ];
  const taken = pairs.map(([pending, line, draft]) => {
    const read = typed(pending, line, draft);
    if (read.kind !== "resolve") return read.kind;
    return (
      commandSchema.safeParse(resolve(pending, read.resolution)).success && checkResolution(pending, read.resolution).ok
    );
  });
  expect(taken).toEqual(pairs.map(() => true));
});

test("options and items are numbered; a changed proposal shows what was changed", () => {
  expect(askedLines({ ...single, expires_at: "2026-08-01T09:30:00.000Z" })).toEqual([
    "Which form does the patient prefer?",
    "  1. Glycinate: gentle on the gut",
    "  2. Citrate",
    "  open until 2026-08-01 09:30 UTC",
  ]);
  expect(askedLines(plan, [null, "1 scoop at bedtime"])).toEqual([
    "Proposed plan for Gideon Saltmarsh: Magnesium for sleep",
    "  Store this draft?",
    "  1. Alderquill Nutritionals Magnesium Glycinate 200 mg (200 mg elemental): dropped",
    "  2. Fennbridge Labs Magnesium Citrate Powder (150 mg elemental)",
    "     dosing: 1 scoop at bedtime (changed)",
    "     why: Alternative for patients who dislike large tablets.",
    "     price: out of stock",
    "  - Regular bedtime: Same hour within 30 minutes, also at weekends.",
    "  - lab test: Magnesium, red cells",
    "  notes: Review in eight weeks.",
  ]);
});

test("the commands to copy hold nothing that a shell would run", () => {
  const wild = { ...single, options: [{ id: "a'; rm -rf $(x)\n`y`", label: "$(reboot)" }] };
  expect(answerCommands("npm run chat -- --session s", wild)).toEqual([
    "[1] npm run chat -- --session s --answer 'a'\\''; rm -rf $(x) `y`'",
    'npm run chat -- --session s --dismiss "reason"',
  ]);
  const crowd = Array.from({ length: 13 }, (_, at) => ({ id: `pat-${at}`, label: `Patient ${at}` }));
  expect(answerCommands("chat", { ...picker, options: crowd })).toEqual([
    "chat --answer <number>",
    'chat --dismiss "reason"',
  ]);
  expect([answerCommands("chat", multi), answerCommands("chat", plan)]).toEqual([
    ["[1] chat --answer gly", "[2] chat --answer cit", "    (more ids may follow)", 'chat --dismiss "reason"'],
    ["chat --accept", 'chat --dismiss "reason"'],
  ]);
});

test("an id counts before a number; what was not offered is left to the server", () => {
  const options = [
    { id: "2", label: "Two" },
    { id: "b", label: "B" },
  ];
  expect([
    optionIds(options, ["2", "b", "1"]),
    optionIds(options, ["7", "pat-9"]),
    optionIds(undefined, ["1"]),
  ]).toEqual([["2", "b", "2"], ["7", "pat-9"], ["1"]]);
  expect(glycinate).toBe("var-700000");
});
