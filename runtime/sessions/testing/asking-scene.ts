import type { AskedInteraction } from "../../../machines/conversation/interactions.ts";
import type { CommandId, SessionId } from "../../../machines/ids.ts";
import type { ModelRequest } from "../../../machines/model.ts";
import type { Resolution } from "../../../machines/protocol/commands.ts";
import type { PendingInteraction, Proposal } from "../../../machines/protocol/interactions.ts";
import type { PlainSignal, SignalData } from "../../../machines/protocol/signals.ts";
import type { Store } from "../../../persistence/store.ts";
import type { ToolResult } from "../../../tools/tool.ts";
import { realChance } from "../../effects.ts";
import { calls, decides, says, scriptedModel } from "../../models/scripted.ts";
import { Client, node, rivera, type SceneOptions, type ToolScript } from "./scene.ts";

export const QUESTION: AskedInteraction = {
  kind: "single_choice",
  prompt: "Capsules or powder?",
  options: [
    { id: "capsules", label: "Capsules" },
    { id: "powder", label: "Powder" },
  ],
};

const item = (id: string, dosing: string) => ({
  product_id: `prod_${id}`,
  variant_id: `var_${id}`,
  name: `Supplement ${id}`,
  brand: "Brand",
  strength: "100 mg",
  dosing,
  rationale: "low",
  price: null,
  in_stock: true,
});

export const PROPOSAL: Proposal = {
  patient_id: "pat_1",
  patient_name: "Maria",
  title: "Sleep",
  items: [item("a", "1 at night"), item("b", "2 with food")],
};
export const PROPOSED: AskedInteraction = { kind: "plan_proposal", prompt: "A plan for sleep", proposal: PROPOSAL };

/** Asks when the user says so ("ask", "propose", "both"), else tells what the history says on the user's side. */
export const asker = decides((request) => {
  const said = lastSaid(request);
  const isAnswered = request.entries.at(-1)?.kind === "tool_result";
  if (!isAnswered && said.startsWith("ask")) return calls("ask", { text: said });
  if (!isAnswered && said.startsWith("propose")) return calls("propose", { text: said });
  return says(toldOf(request));
});

function lastSaid({ entries }: ModelRequest): string {
  const last = entries.findLast((entry) => entry.kind === "user" || entry.kind === "resolution");
  return last?.kind === "user" ? last.text : "";
}

/** What a model is told on the user's side of the turn that runs. */
function toldOf({ entries }: ModelRequest): string {
  const { turnId } = entries.at(-1) ?? {};
  return entries
    .filter((entry) => entry.turnId === turnId)
    .flatMap((entry) =>
      entry.kind === "resolution" || entry.kind === "action" || entry.kind === "user" ? [entry.text] : [],
    )
    .join("\n");
}

const pauses = (name: string, asked: AskedInteraction, more: object = {}): ToolScript => ({
  name,
  run: async (): Promise<ToolResult> => ({ kind: "pause", asked, ...more }),
});

type HeldPlan = {
  readonly id: string;
  readonly patientId: string;
  readonly status: string;
  readonly title: string;
  readonly items: readonly unknown[];
  readonly notes?: string;
};

const contentsOf = ({ title, notes }: Record<string, unknown>) => ({
  ...(typeof title === "string" && { title }),
  ...(typeof notes === "string" && { notes }),
});

/** The plan tools of a platform, and `change` for what others do to its plans: what was written, under which key. */
export function platform(traits: { readonly repeatable?: boolean } = {}) {
  const writes: { readonly tool: string; readonly key: string; readonly args: unknown }[] = [];
  const byKey = new Map<string, unknown>();
  let plans: HeldPlan[] = [];
  const write = async (tool: string, key: string, args: Record<string, unknown>): Promise<ToolResult> => {
    writes.push({ tool, key, args });
    const before = byKey.get(key);
    if (before !== undefined) return { kind: "ok", text: "again", data: before };
    const items = ((args["items"] ?? args["addItems"]) as Record<string, string>[]).map((one, at) => ({
      id: `item_${at}`,
      name: `Supplement ${one["variantId"]}`,
      brand: null,
      ...one,
    }));
    const known = plans.find((plan) => plan.id === args["id"]);
    const plan = known
      ? { ...known, ...contentsOf(args), items: [...known.items, ...items] }
      : {
          ...contentsOf(args),
          id: `plan_${plans.length + 1}`,
          patientId: String(args["patientId"]),
          status: "draft",
          title: String(args["title"] ?? "Draft"),
          items,
        };
    plans = [plan, ...plans.filter(({ id }) => id !== plan.id)];
    byKey.set(key, { plan });
    return { kind: "ok", text: "stored", data: { plan } };
  };
  const written = { readOnly: false, repeatable: traits.repeatable ?? true };
  const tools: ToolScript[] = [
    { name: "plan_create", ...written, run: (args, key) => write("plan_create", key, args as never) },
    { name: "plan_update", ...written, run: (args, key) => write("plan_update", key, args as never) },
    {
      name: "plan_get",
      run: async (args) => {
        const { id, patientId } = args as { id?: string; patientId?: string };
        return {
          kind: "ok",
          text: "",
          data: { plans: plans.filter((plan) => plan.id === id || plan.patientId === patientId) },
        };
      },
    },
  ];
  const change = (make: (plans: readonly HeldPlan[]) => HeldPlan[]) => {
    plans = make(plans);
  };
  return { tools, writes, plans: () => plans, change };
}

/** One node whose model asks, with a client on a new session. */
export async function askingOn(
  store: Store,
  options: Partial<SceneOptions> = {},
  asked = QUESTION,
  proposed = PROPOSED,
) {
  const model = scriptedModel(asker);
  const tools = [pauses("ask", asked), pauses("propose", proposed), ...(options.tools ?? [])];
  const one = node(store, { model, ...options, tools });
  const id = await one.conversations.create(rivera);
  const client = await Client.open(one.conversations, id);
  return { ...one, model, id, client, options: { model, ...options, tools } };
}

/** What is open after the next turn ends `awaiting`. */
export async function opened(client: Client): Promise<PendingInteraction> {
  const { data } = await client.until("state_changed", (one) => one.data.status === "awaiting");
  if (data.pending_interaction === null) throw new Error("awaiting nothing");
  return data.pending_interaction;
}

export function resolve(
  client: Client,
  { id: interaction_id, revision }: { readonly id: string; readonly revision: number },
  resolution: Resolution,
  id: string = realChance.uuid(),
): Promise<PlainSignal> {
  return client.deliver({ type: "resolve", id: id as CommandId, interaction_id, revision, resolution });
}

export const receiptOf = (signal: PlainSignal): Partial<SignalData<"interaction_receipt">> & { code?: string } => {
  if (signal.kind === "error") return { code: signal.data.code };
  if (signal.kind !== "interaction_receipt") throw new Error(`a ${signal.kind}`);
  const { id: _, turn_id: __, ...told } = signal.data;
  return told;
};

export const choose = (...selected: string[]): Resolution => ({ kind: "answered", selected });

export const entriesOf = async (store: Store, id: SessionId) =>
  (await store.histories.load(id, 0)).map(({ entry }) => entry);

/** The session's turns: what began them, how they ended, what was said. */
export async function turnsOf(store: Store, id: SessionId) {
  const turns = await store.turns.page(id, 100);
  return turns.map(({ cause, input, outcome, blocks }) => ({
    cause,
    input: "text" in input ? input.text : (input.label ?? ""),
    outcome,
    blocks: blocks.map(({ type, content }) => (type === "text" ? content["text"] : type)),
  }));
}
