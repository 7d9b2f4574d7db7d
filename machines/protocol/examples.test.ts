import { describe, expect, test } from "vitest";
import type { z } from "zod";
import { commandSchema } from "./commands.ts";
import { commandExamples, type Explained, numberedExamples, plainExamples } from "./examples.ts";
import { numberedSignals, plainSignals } from "./signals.ts";
import { signalsPage } from "./signals-page.ts";

const signals: readonly [string, z.ZodType, Explained<object>][] = [
  ...(Object.keys(numberedSignals) as (keyof typeof numberedSignals)[]).map(
    (kind): [string, z.ZodType, Explained<object>] => [kind, numberedSignals[kind], numberedExamples[kind]],
  ),
  ...(Object.keys(plainSignals) as (keyof typeof plainSignals)[]).map(
    (kind): [string, z.ZodType, Explained<object>] => [kind, plainSignals[kind], plainExamples[kind]],
  ),
];
const fieldsOf = (schema: z.ZodType): string[] => Object.keys((schema as z.ZodObject).shape);

describe("examples", () => {
  test.each(signals)("%s is taken by its schema and has nothing beside it", (_, schema, { example }) => {
    expect(schema.parse(example)).toEqual(example);
  });

  test.each(Object.entries(commandExamples))("the command %s too", (type, { example }) => {
    expect(commandSchema.parse(example)).toEqual(example);
    expect(example.type).toBe(type);
  });

  test("words are about fields that there are", () => {
    const strange = signals.flatMap(([kind, schema, { fields = {} }]) =>
      Object.keys(fields).flatMap((name) => (fieldsOf(schema).includes(name) ? [] : [`${kind}.${name}`])),
    );
    const inCommands = commandSchema.options.flatMap((option) => {
      const { fields = {} } = commandExamples[option.shape.type.value];
      return Object.keys(fields).filter((name) => !fieldsOf(option).includes(name));
    });
    expect([strange, inCommands]).toEqual([[], []]);
  });
});

describe("the page", () => {
  const page = signalsPage();
  const headings = [...page.matchAll(/^### (.+)$/gm)].map(([, name]) => name);

  test("has every command and every signal, once, in the order of the schemas", () => {
    const commands = commandSchema.options.map((option) => option.shape.type.value);
    expect(headings).toEqual([...commands, ...signals.map(([kind]) => kind)]);
  });

  test("its examples are the ones that were checked", () => {
    const shown = [...page.matchAll(/```json\n([\s\S]*?)\n```/g)].map(([, json]) => JSON.parse(json ?? ""));
    const commands = commandSchema.options.map((option) => commandExamples[option.shape.type.value].example);
    expect(shown).toEqual([...commands, ...signals.map(([, , { example }]) => example)]);
  });

  test("its tables have every field, an optional one with a question mark", () => {
    const part = /### queue_changed[\s\S]*?(?=### )/.exec(page)?.[0];
    expect(part).toContain("| `waiting` | [{turn_id: uuid, text: string}] | the whole queue, each time |");
    expect(/### turn_completed[\s\S]*?(?=### )/.exec(page)?.[0]).toContain(
      "| `reason`? | step_limit · time_limit · token_limit · tool_loop · truncated | why it ended early |",
    );
    for (const [kind, schema] of signals) {
      const own = new RegExp(`### ${kind}\\n[\\s\\S]*?(?=\`\`\`json)`).exec(page)?.[0] ?? "";
      const rows = [...own.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name);
      expect([kind, rows]).toEqual([kind, fieldsOf(schema)]);
    }
  });
});
