import { z } from "zod";
import type { AskedInteraction } from "../../machines/conversation/interactions.ts";
import type { InteractionOption } from "../../machines/protocol/interactions.ts";
import type { ToolContext } from "../tool.ts";
import { showingTool } from "./define.ts";
import { badArguments, type Failed, lookUp, namedIds } from "./lookup.ts";

const MINUTE_MS = 60_000;
/** As many as the platform lists at once; a blank query lists everyone. */
const MOST_PATIENTS = 50;

const option = z.object({
  id: z.string().trim().min(1).max(100).optional().describe("Comes back with the answer. Left out, one is made."),
  label: z.string().trim().min(1).max(200).describe("What the user reads, a few words."),
  detail: z.string().trim().min(1).max(300).optional().describe("One line more, where the label is not enough."),
});

/** Minutes until nobody may answer any more. */
export const expiresInMinutes = z
  .int()
  .min(1)
  .max(10_080)
  .optional()
  .describe("Minutes after which it can't be answered any more. Leave it out unless there is a reason.");

/** Asks the user and ends the turn; the answer begins a turn of its own. */
export const askQuestion = showingTool({
  name: "ask_question",
  title: "Asking you",
  description:
    "Ask the user one question with fixed answers and stop: the answer comes with the next turn. Only when you can't go on without it; call it alone, as the last call, once a turn. patient_picker lists the user's patients by itself.",
  input: z.object({
    question: z.string().trim().min(1).max(500).describe("One sentence, no preamble."),
    kind: z
      .enum(["single_choice", "multi_choice", "patient_picker"])
      .describe("single_choice: one of the options; multi_choice: one or more; patient_picker: one patient."),
    options: z
      .array(option)
      .min(2)
      .max(12)
      .optional()
      .describe("The answers to choose from. Not for patient_picker, which needs none."),
    expires_in_minutes: expiresInMinutes,
  }),
  async run({ question, kind, options, expires_in_minutes }, context) {
    const ends = expires_in_minutes === undefined ? {} : { expiresInMs: expires_in_minutes * MINUTE_MS };
    if (kind === "patient_picker") {
      const patients = await everyPatient(context);
      if ("failed" in patients) return patients.failed;
      return { kind: "pause", asked: { kind, prompt: question, ...patients.found, ...ends } };
    }
    if (options === undefined) return badArguments(`Nothing was asked: ${kind} needs 2 to 12 options.`);
    const repeated = repeatedIn(options.flatMap(({ id }) => id ?? []));
    if (repeated.length > 0)
      return badArguments(`Nothing was asked: the option id ${namedIds(repeated)} occurs twice.`);
    const alike = repeatedIn(options.map(({ label }) => label));
    if (alike.length > 0) return badArguments(`Nothing was asked: two options are labelled ${namedIds(alike)}.`);
    return { kind: "pause", asked: { kind, prompt: question, options: withIds(options), ...ends } };
  },
});

const repeatedIn = (all: readonly string[]): readonly string[] => [
  ...new Set(all.filter((one, at) => all.indexOf(one) !== at)),
];

/** `option-1`, `option-2`, … by place, passing over ids that others have. */
function withIds(options: readonly z.infer<typeof option>[]): readonly InteractionOption[] {
  const taken = new Set(options.map(({ id }) => id));
  return options.map(({ id, label, detail }, at) => {
    let number = at + 1;
    while (id === undefined && taken.has(`option-${number}`)) number += 1;
    const own = id ?? `option-${number}`;
    taken.add(own);
    return { id: own, label, ...(detail !== undefined && { detail }) };
  });
}

const patients = z.object({
  patients: z.array(z.object({ id: z.string().min(1), name: z.string(), dob: z.string().nullish() })),
  total: z.number().nullish(),
});

/** Everyone the caller may see, as far as they can be listed. */
async function everyPatient(
  context: ToolContext,
): Promise<{ readonly found: Pick<AskedInteraction, "options" | "openEnded"> } | { readonly failed: Failed }> {
  const looked = await lookUp(context, "patient_search", { query: "", limit: MOST_PATIENTS }, patients);
  if ("failed" in looked) return looked;
  const listed = looked.found.patients;
  if (listed.length === 0)
    return { failed: { kind: "error", reason: "tool", text: "Nothing was asked: this user has no patients." } };
  const isMore = looked.found.total == null ? listed.length >= MOST_PATIENTS : looked.found.total > listed.length;
  return { found: { options: listed.map(patientOption), ...(isMore && { openEnded: true as const }) } };
}

/** Name and date of birth: what tells two patients of one name apart. */
const patientOption = ({ id, name, dob }: z.infer<typeof patients>["patients"][number]): InteractionOption => ({
  id,
  label: dob ? `${name}, born ${dob}` : name,
});
