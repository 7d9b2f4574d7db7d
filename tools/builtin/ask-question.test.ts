import { expect, test } from "vitest";
import { answerSchema } from "../../machines/conversation/interactions.ts";
import { askQuestion } from "./ask-question.ts";
import { away, besides, type Given } from "./testing/besides.ts";

const yes = { id: "yes", label: "Yes" };
const no = { id: "no", label: "No", detail: "Keep it as it is." };
const refused = (text: string) => ({ kind: "error", reason: "invalid_arguments", text });
const ask = (args: unknown, search: Given = () => ({ data: { patients: [], total: 0 } })) =>
  besides(askQuestion, { patient_search: search }).run(args);

test("a choice: its options as they are, ids made where they are absent, an end in minutes", async () => {
  expect(await ask({ question: "  Go on? ", kind: "single_choice", options: [yes, no] })).toEqual({
    kind: "pause",
    asked: { kind: "single_choice", prompt: "Go on?", options: [yes, no] },
  });
  const options = [{ label: "Capsules" }, { id: "option-3", label: "Powder" }, { label: "Drops" }];
  expect(await ask({ question: "Forms?", kind: "multi_choice", options, expires_in_minutes: 30 })).toEqual({
    kind: "pause",
    asked: {
      kind: "multi_choice",
      prompt: "Forms?",
      options: [
        { id: "option-1", label: "Capsules" },
        { id: "option-3", label: "Powder" },
        { id: "option-4", label: "Drops" },
      ],
      expiresInMs: 1_800_000,
    },
  });
});

test("a choice that can't be answered is refused with what to change", async () => {
  const asked = { question: "Go on?", kind: "single_choice" };
  expect(await ask(asked)).toEqual(refused("Nothing was asked: single_choice needs 2 to 12 options."));
  expect(await ask({ ...asked, options: [yes, { ...no, id: "yes" }] })).toEqual(
    refused('Nothing was asked: the option id "yes" occurs twice.'),
  );
  expect(await ask({ ...asked, options: [{ label: "A" }, { label: "A" }] })).toEqual(
    refused('Nothing was asked: two options are labelled "A".'),
  );
  for (const wrong of [
    { options: [yes] },
    { options: Array.from({ length: 13 }, (_, at) => ({ label: `Option ${at}` })) },
    { options: [yes, { label: " " }] },
    { options: [yes, no], question: "" },
    { options: [yes, no], kind: "plan_proposal" },
    { options: [yes, no], expires_in_minutes: 0 },
    { options: [yes, no], expires_in_minutes: 10_081 },
    { options: [yes, no], expires_in_minutes: 1.5 },
  ]) {
    const result = await ask({ ...asked, ...wrong });
    expect([result.kind, result.kind === "error" && result.reason]).toEqual(["error", "invalid_arguments"]);
  }
});

test("a picker lists the caller's patients by name and birth; whoever is not listed can be picked too", async () => {
  const patients = [
    { id: "p-1", name: "Orla Quensby", dob: "1970-01-02", sex: "f" },
    { id: "p-2", name: "Bram Oster" },
  ];
  const pick = (total: number) => {
    const scene = besides(askQuestion, { patient_search: () => ({ data: { patients, total } }) });
    // Options of the model's own are not a picker's.
    return { ...scene, asked: scene.run({ question: "Who?", kind: "patient_picker", options: [yes, no] }) };
  };
  const options = [
    { id: "p-1", label: "Orla Quensby, born 1970-01-02" },
    { id: "p-2", label: "Bram Oster" },
  ];
  const all = pick(2);
  const asked = { kind: "patient_picker" as const, prompt: "Who?", options };
  expect(await all.asked).toEqual({ kind: "pause", asked });
  expect(all.calls).toEqual(['patient_search {"query":"","limit":50}']);
  expect(await pick(51).asked).toEqual({ kind: "pause", asked: { ...asked, openEnded: true } });
  expect(answerSchema(asked)).toEqual({
    type: "array",
    items: { type: "string", enum: ["p-1", "p-2"] },
    minItems: 1,
    maxItems: 1,
  });
});

test("a picker without patients, or without the search, asks nothing", async () => {
  const asked = { question: "Who?", kind: "patient_picker" };
  expect(await ask(asked)).toEqual({
    ...{ kind: "error", reason: "tool", text: "Nothing was asked: this user has no patients." },
  });
  const text = "Nothing was shown: patient_search cannot be used now.";
  expect(await ask(asked, () => away)).toEqual({ kind: "error", reason: "unavailable", text });
  expect(await ask(asked, () => ({ ...away, reason: "auth" }))).toEqual({ kind: "error", reason: "auth", text });
  expect(await ask(asked, () => ({ data: { people: [] } }))).toEqual({
    ...{ kind: "error", reason: "protocol", text: "Nothing was shown: patient_search gave data of another shape." },
  });
});
