import type { PlainSignal } from "../../../machines/protocol/signals.ts";
import type { Store } from "../../../persistence/store.ts";
import type { ToolResult } from "../../../tools/tool.ts";
import { realChance } from "../../effects.ts";
import { calls, decides, hangs, says, scriptedModel } from "../../models/scripted.ts";
import { Client, node, rivera, type SceneOptions, type ToolScript } from "./scene.ts";

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
/** A tool whose card has two buttons. */
export const recommend = (patient_id?: string): ToolScript => ({
  name: "recommend",
  run: async (): Promise<ToolResult> => ({
    kind: "ok",
    text: "shown",
    card: {
      kind: "recommend_supplements",
      data: { supplements: [supplement("a"), supplement("b")], ...(patient_id !== undefined && { patient_id }) },
    },
  }),
});

/** Recommends or proposes when it is asked to, hangs when told to, else repeats what the turn says on the user's side. */
export const recommender = () =>
  scriptedModel(
    decides(({ entries }) => {
      const { turnId } = entries.at(-1) ?? {};
      const said = entries.flatMap((entry) =>
        entry.turnId === turnId && (entry.kind === "user" || entry.kind === "action") ? [entry.text] : [],
      );
      if (said.includes("hang")) return hangs("thinking");
      const isFresh = entries.at(-1)?.kind !== "tool_result";
      if (said.includes("propose") && isFresh) return calls("propose");
      return said.includes("recommend") && isFresh ? calls("recommend") : says(said.join("\n"));
    }),
  );

/** A node whose model has shown a card, with a client that sees it. */
export async function shownOn(
  store: Store,
  tools: readonly ToolScript[],
  patient: string | null = "pat_1",
  options: Partial<SceneOptions> = {},
) {
  const scripted = recommender();
  const scene = { model: scripted, tools: [recommend(patient ?? undefined), ...tools], ...options };
  const one = node(store, scene);
  const id = await one.conversations.create(rivera);
  const client = await Client.open(one.conversations, id);
  await client.say("recommend");
  await client.asleep();
  await one.directory.whenEmpty();
  const { block_id } = client.of("recommend_supplements")[0] ?? { block_id: "" };
  client.clear();
  return { ...one, id, client, block_id, scripted, options: scene };
}

export const press = (
  client: Client,
  block_id: string,
  variant = "a",
  more: { id?: string; plan_id?: string; dosing?: string } = {},
) => {
  const { id = realChance.uuid(), plan_id, dosing = "1 daily" } = more;
  const item = { product_id: `prod_${variant}`, variant_id: `var_${variant}`, dosing };
  return client.deliver({ type: "action", id, block_id, action: "add_to_plan", item, ...(plan_id && { plan_id }) });
};

export const told = (signal: PlainSignal) => {
  if (signal.kind === "error") return { code: signal.data.code };
  if (signal.kind !== "action_receipt") throw new Error(`a ${signal.kind}`);
  const { id: _, ...data } = signal.data;
  return data;
};
