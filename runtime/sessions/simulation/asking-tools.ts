import type { InteractionId } from "../../../machines/ids.ts";
import type { Proposal } from "../../../machines/protocol/interactions.ts";
import { PROPOSAL, PROPOSED, QUESTION } from "../testing/asking-scene.ts";
import type { ToolScript } from "../testing/scene.ts";
import type { Gate } from "./gate.ts";
import type { Random } from "./random.ts";

export const ASKING_TOOLS = ["ask", "propose", "recommend"];

const supplement = (id: string) => ({
  product_id: `prod_${id}`,
  variant_id: `var_${id}`,
  name: `Supplement ${id}`,
  brand: "Brand",
  strength: "100 mg",
  dosing: "1 daily",
  price: null,
  in_stock: true,
  rationale: "low",
});

/** More for a draft that may be there, of what the cards' buttons put into it too. */
const extending = (random: Random): Proposal => ({
  ...PROPOSAL,
  plan_id: "plan_1",
  items: ["x", "y"].slice(random.below(2)).map((id) => ({ ...supplement(id), dosing: "2 daily" })),
});

/** Tools that ask a person, and one whose card has buttons. `proposed`: the proposals so far. */
export function askingTools(
  random: Random,
  gate: Gate,
  owner: string,
  proposed: () => readonly InteractionId[],
): ToolScript[] {
  const tool = (name: string, run: ToolScript["run"]): ToolScript => ({
    name,
    run: async (...input) => {
      await gate.hold(owner, `tool.${name}`, async () => {}, random.happens(0.7) ? { signal: input[2] } : {});
      return await run(...input);
    },
  });
  const until = () => (random.happens(0.4) ? { expiresInMs: 2_000 + random.below(8_000) } : {});
  return [
    tool("ask", async () => ({ kind: "pause", asked: { ...QUESTION, ...until() } })),
    tool("propose", async () => {
      const asked = { ...PROPOSED, ...until(), ...(random.happens(0.6) && { proposal: extending(random) }) };
      const earlier = proposed();
      if (earlier.length === 0 || random.happens(0.5)) return { kind: "pause", asked };
      return { kind: "pause", asked, revises: random.one(earlier) };
    }),
    tool("recommend", async () => ({
      kind: "ok",
      text: "shown",
      card: { kind: "recommend_supplements", data: { supplements: ["x", "y"].map(supplement), patient_id: "pat_1" } },
    })),
  ];
}
