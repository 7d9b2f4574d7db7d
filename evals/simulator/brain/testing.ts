import { decide } from "./brain.ts";
import type { Message, UserPart } from "./conversation.ts";
import type { Call } from "./reply.ts";

/** A fake tool: returns the result, a string as it is, an `Error` whose message is the tool's error text, or that it asks the user. */
export type FakeTool = (args: Readonly<Record<string, unknown>>) => unknown;

/** What a tool that asks the user returns: the turn ends here. */
export const PAUSES = Symbol("the user is asked");

export type Told = { readonly answer: string; readonly calls: readonly Call[]; readonly steps: number };

export type Talk = {
  /** Says something and runs the fake tools until the brain answers in text or asks. */
  say(text: string, context?: string): Told;
  /** The user's side of a turn as the agent writes it: each text a part of its own. */
  tell(...texts: readonly string[]): Told;
  readonly messages: Message[];
};

/** A conversation between a test and the brain. Throws when the brain does not come to an answer. */
export function talk(tools: Readonly<Record<string, FakeTool>>, skills: readonly string[] = []): Talk {
  const messages: Message[] = [];
  const system = `You help.\n<skills>\n${skills.map((name) => `- ${name}: about ${name}`).join("\n")}\n</skills>`;
  // A turn that ended with a question left its result on the user's side: what follows belongs to the same message.
  const userSays = (parts: readonly UserPart[]) => {
    const last = messages.at(-1);
    if (last?.from === "user") messages[messages.length - 1] = { from: "user", parts: [...last.parts, ...parts] };
    else messages.push({ from: "user", parts });
  };
  const tell = (...texts: readonly string[]): Told => {
    const calls: Call[] = [];
    userSays(texts.map((text) => ({ kind: "text", text })));
    for (let steps = 1; steps <= 12; steps += 1) {
      const reply = decide({ system, tools: Object.keys(tools), messages });
      messages.push({ from: "model", text: reply.text, calls: reply.calls });
      if (reply.calls.length === 0) return { answer: reply.text, calls, steps };
      calls.push(...reply.calls);
      const results = reply.calls.map((call) => resultOf(call, tools));
      userSays(results.map(({ part }) => part));
      if (results.some(({ pauses }) => pauses)) return { answer: reply.text, calls, steps };
    }
    throw new Error("the brain made 12 steps without an answer");
  };
  return { messages, tell, say: (text, context) => tell(...(context === undefined ? [] : [context]), text) };
}

function resultOf(
  { tool, args }: Call,
  tools: Readonly<Record<string, FakeTool>>,
): { readonly part: UserPart; readonly pauses: boolean } {
  const run = tools[tool];
  if (run === undefined) throw new Error(`the brain called ${tool}, which is not declared`);
  const value = run(args);
  const result = (output: unknown, error: string | null = null) => ({
    part: { kind: "result" as const, tool, output, error },
    pauses: value === PAUSES,
  });
  if (value === PAUSES) return result("Shown to the user, not answered yet.");
  if (value instanceof Error) return result(null, value.message);
  return result(typeof value === "string" ? value : JSON.stringify(value));
}
/** Fakes that scenes share: a skill, a check without findings, a product, a patient. */
export const loadSkill: FakeTool = ({ name }) => `# ${name}`;
export const kinds =
  (drugs: readonly string[]): FakeTool =>
  ({ items }) => {
    const list = items as string[];
    return {
      findings: [],
      notRecorded: [],
      matched: list.map((input) => ({
        input,
        kind: drugs.includes(input) ? "drug" : "supplement",
        id: input,
        name: input,
      })),
      unknown: [],
    };
  };
export const product = (id: string, name: string, more: object = {}) => ({
  id: `prd-${id}`,
  name,
  brand: "Brandel",
  form: "capsule",
  supplements: [{ id: name, name }],
  ingredients: [{ supplementId: name, amount: 100, unit: "mg" }],
  inStock: true,
  dietFlags: [],
  allergens: [],
  exceedsUpperLimit: [],
  availableOrMasterVariant: { id: `var-${id}` },
  typicalAdultDose: { min: 200, max: 300, unit: "mg", basis: "x" },
  ...more,
});
export const patient = (id: string, name: string, more: object = {}) => ({
  id,
  name,
  dob: "1970-01-01",
  medications: [{ name: "zorvane", dose: "5 mg", frequency: "daily" }],
  allergies: [],
  preferences: { forms: ["capsule"], diet: "omnivore" },
  ...more,
});
