import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { assistant, call, calling, reasoning, result, summary, text, user } from "./testing/build.ts";
import { entryTokens, textTokens, toolTokens } from "./tokens.ts";

/** Counted with a published 200k vocabulary. */
const COUNTED: readonly (readonly [name: string, text: string, tokens: number])[] = [
  [
    "English",
    "What did I just ask? Can I add vitamin K2 for bone health to a patient on warfarin? Please check interactions first, then propose 2 products under $40.",
    37,
  ],
  [
    "Japanese",
    "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。何でも薄暗いじめじめした所でニャーニャー泣いていた事だけは記憶している。妊娠中のビタミンの摂取量についてご相談ください。",
    81,
  ],
  [
    "Chinese",
    "我们建议患者每天服用两粒胶囊，随餐服用。镁可能会降低某些抗生素的吸收，因此应间隔至少两小时。请在开始使用任何新的补充剂之前咨询您的医生。",
    52,
  ],
  [
    "Korean",
    "환자는 매일 식사와 함께 캡슐 두 개를 복용해야 합니다. 마그네슘은 일부 항생제의 흡수를 감소시킬 수 있으므로 최소 두 시간 간격을 두어야 합니다.",
    51,
  ],
  [
    "German",
    "Die Patientin nimmt täglich zwei Kapseln zu den Mahlzeiten ein. Magnesium kann die Aufnahme bestimmter Antibiotika verringern, deshalb sollten mindestens zwei Stunden dazwischen liegen. Außerdem bitte auf mögliche Nebenwirkungen achten.",
    45,
  ],
  [
    "emoji",
    "Great news 😀 your plan is ready 🎉🎉 please take it with food 🍽️ and water 💧 👩‍⚕️ thanks 👍🏽 see you soon ❤️",
    37,
  ],
  [
    "French",
    "La patiente prend deux gélules par jour au cours des repas. Le magnésium peut réduire l'absorption de certains antibiotiques, il faut donc respecter un intervalle d'au moins deux heures entre les prises.",
    46,
  ],
];

describe("token estimate", () => {
  test.each(COUNTED)("%s is within 15 %% of a real count", (_, words, counted) => {
    expect(Math.abs(textTokens(words) - counted) / counted).toBeLessThanOrEqual(0.15);
  });

  test("nothing costs nothing; twice the text costs twice as much", () => {
    expect(textTokens("")).toBe(0);
    const line = 'Magnesium 200 mg, {"id":"prd-001"}\n';
    expect(textTokens(line.repeat(200)) / textTokens(line.repeat(100))).toBeCloseTo(2, 1);
  });

  test("plain ASCII is counted without the expression, and to the same figure", () => {
    const unit = fc.oneof(
      fc.constantFrom(...'aZ09 \t\n\r-_{}":,.\u0000\u001c', "  ", "\n\n", "supplements", "1234", "->"),
      fc.constantFrom(..."é—“\u00a0\u2028\u0301٣½©猫ねコ한ก😀👍🏽\u200d\ufe0f\ud800\udc00"),
    );
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 40 }), (parts) => {
        const words = parts.join("");
        expect(textTokens(words)).toBe(byExpression(words));
      }),
      { numRuns: 2_000 },
    );
  });

  test("an entry counts all that is sent of it", () => {
    const words = "Take it with food.";
    const plain = textTokens(words);
    expect(entryTokens(user(words))).toBe(4 + plain);
    expect(entryTokens(user(words, { context: { patient: { id: "pat-001" } } }))).toBe(
      4 + plain + textTokens('<context><patient id="pat-001"/></context>'),
    );
    expect(entryTokens(assistant([text(words), reasoning(words, "s".repeat(80))]))).toBe(4 + plain + plain + 10);
    expect(entryTokens(assistant([calling(call("c1", "find", { q: "zinc" }))]))).toBe(
      4 + 8 + textTokens("find") + textTokens('{"q":"zinc"}'),
    );
    expect(entryTokens(result("c1", "find", words))).toBe(8 + textTokens("find") + plain);
    expect(entryTokens(summary(words))).toBe(4 + plain);
  });

  test("schemas are counted", () => {
    const tool = { name: "find", description: "Finds it.", inputSchema: { type: "object", properties: {} } };
    expect(toolTokens([tool, tool])).toBe(2 * toolTokens([tool]));
    expect(toolTokens([tool])).toBe(
      8 + textTokens("find") + textTokens("Finds it.") + textTokens(JSON.stringify(tool.inputSchema)),
    );
  });
});

const PIECES =
  /(?<word>[A-Za-z]+)|(?<digits>\p{Nd}+)|(?<kana>[\p{Script=Hiragana}\p{Script=Katakana}]+)|(?<dense>[\p{Script=Han}\p{Script=Hangul}\p{Script=Thai}]+)|(?<emoji>\p{Extended_Pictographic}|\p{Emoji_Modifier}|[\u200d\ufe0f])|(?<letters>[\p{L}\p{M}]+)|(?<breaks>\s*\n\s*|\s{2,})|(?<space>\s)|(?<signs>[^\s\p{L}\p{M}\p{Nd}\p{Extended_Pictographic}]+)/gu;

/** The estimate as it is defined: piece by piece, whatever the script. */
function byExpression(words: string): number {
  let tokens = 0;
  for (const { groups = {} } of words.matchAll(PIECES)) {
    const { word, digits, kana, dense, emoji, letters, breaks, signs } = groups;
    if (word !== undefined) tokens += word.length <= 8 ? 1 : 1 + Math.ceil((word.length - 8) / 5);
    else if (digits !== undefined) tokens += Math.ceil(digits.length / 2);
    else if (kana !== undefined) tokens += [...kana].length * 0.9;
    else if (dense !== undefined) tokens += [...dense].length * 0.8;
    else if (emoji !== undefined) tokens += 1.5;
    else if (letters !== undefined) tokens += Math.max(1, letters.length / 3.5);
    else if (signs !== undefined) tokens += Math.ceil(signs.length / 3);
    else if (breaks !== undefined) tokens += 1;
  }
  return Math.ceil(tokens);
}
