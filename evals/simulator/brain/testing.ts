import { decide } from "./brain.ts";
import type { Message, UserPart } from "./conversation.ts";
import type { Call } from "./reply.ts";

/** A fake tool: returns the result, a string as it is, or an `Error` whose message is the tool's error text. */
export type FakeTool = (args: Readonly<Record<string, unknown>>) => unknown;

export type Told = { readonly answer: string; readonly calls: readonly Call[]; readonly steps: number };

export type Talk = {
  /** Says something and runs the fake tools until the brain answers in text. */
  say(text: string, context?: string): Told;
  readonly messages: Message[];
};

/** A conversation between a test and the brain. Throws when the brain does not come to an answer. */
export function talk(tools: Readonly<Record<string, FakeTool>>, skills: readonly string[] = []): Talk {
  const messages: Message[] = [];
  const system = `You help.\n<skills>\n${skills.map((name) => `- ${name}: about ${name}`).join("\n")}\n</skills>`;
  return {
    messages,
    say(text, context) {
      const calls: Call[] = [];
      const block: readonly UserPart[] = context === undefined ? [] : [{ kind: "text", text: context }];
      messages.push({ from: "user", parts: [...block, { kind: "text", text }] });
      for (let steps = 1; steps <= 12; steps += 1) {
        const reply = decide({ system, tools: Object.keys(tools), messages });
        messages.push({ from: "model", text: reply.text, calls: reply.calls });
        if (reply.calls.length === 0) return { answer: reply.text, calls, steps };
        calls.push(...reply.calls);
        messages.push({ from: "user", parts: reply.calls.map((call) => resultOf(call, tools)) });
      }
      throw new Error("the brain made 12 steps without an answer");
    },
  };
}

function resultOf({ tool, args }: Call, tools: Readonly<Record<string, FakeTool>>): UserPart {
  const run = tools[tool];
  if (run === undefined) throw new Error(`the brain called ${tool}, which is not declared`);
  const value = run(args);
  if (value instanceof Error) return { kind: "result", tool, output: null, error: value.message };
  return { kind: "result", tool, output: typeof value === "string" ? value : JSON.stringify(value), error: null };
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
