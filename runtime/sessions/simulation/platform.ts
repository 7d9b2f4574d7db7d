import type { ToolResult } from "../../../tools/tool.ts";
import type { ToolScript } from "../testing/scene.ts";
import type { Gate } from "./gate.ts";
import type { Random } from "./random.ts";
import type { Effect } from "./tools.ts";

type Item = { readonly variantId: string; readonly productId: string; readonly dosing: string };
type Plan = {
  readonly id: string;
  readonly patientId: string;
  readonly title: string;
  readonly status: "draft";
  readonly items: readonly (Item & { readonly id: string; readonly name: string })[];
};
type Written = {
  readonly id?: string;
  readonly patientId?: string;
  readonly title?: string;
  readonly items?: readonly Item[];
  readonly addItems?: readonly Item[];
};

const NOT_STORED: ToolResult = { kind: "error", reason: "tool", text: "not stored" };
const LOGGED_OUT: ToolResult = { kind: "error", reason: "auth", text: "the login ended" };
const NOT_ANSWERED: ToolResult = { kind: "error", reason: "timeout", text: "no answer in time", mayHaveHappened: true };

/** The plans of a simulated world: they outlive its nodes. It honours keys where it says so, and not at all otherwise. */
export class SimulatedPlatform {
  readonly plans = new Map<string, Plan>();
  readonly #byKey = new Map<string, Plan>();
  readonly #repeatable: boolean;

  constructor(repeatable: boolean) {
    this.#repeatable = repeatable;
  }

  /** The plan tools as one node has them. */
  tools(random: Random, gate: Gate, owner: string, happened: (effect: Effect) => Promise<void>): ToolScript[] {
    const write = (tool: string): ToolScript => ({
      name: tool,
      readOnly: false,
      repeatable: this.#repeatable,
      run: async (args, key, signal) => {
        const act = async () => {
          await happened({ tool, key, repeatable: this.#repeatable });
          return this.#write(args as Written, key);
        };
        // A refusal is said before anything happened; a lost answer after.
        if (random.happens(0.1)) return random.happens(0.2) ? LOGGED_OUT : NOT_STORED;
        const plan = await gate.hold(owner, `tool.${tool}`, act, {
          isStuck: random.happens(0.1),
          ...(random.happens(0.7) && { signal }),
        });
        if (random.happens(0.1)) return NOT_ANSWERED;
        return plan === undefined ? NOT_STORED : { kind: "ok", text: "stored", data: { plan } };
      },
    });
    const read: ToolScript = {
      name: "plan_get",
      run: async (args) => {
        const { id, patientId } = args as Written;
        const look = async () => [...this.plans.values()].reverse();
        const plans = await gate.hold(owner, "tool.plan_get", look);
        const wanted = plans.filter((plan) => plan.id === id || plan.patientId === patientId);
        return { kind: "ok", text: "", data: { plans: wanted } };
      },
    };
    return [read, write("plan_create"), write("plan_update")];
  }

  #write({ id, patientId = "", title = "Draft", items = [], addItems = [] }: Written, key: string): Plan | undefined {
    const before = this.#repeatable ? this.#byKey.get(key) : undefined;
    if (before !== undefined) return before;
    const known = id === undefined ? undefined : this.plans.get(id);
    if (id !== undefined && known === undefined) return undefined;
    const added = [...items, ...addItems].map((item) => ({ id: `item_${key}`, name: item.variantId, ...item }));
    const plan: Plan = known
      ? { ...known, items: [...known.items, ...added] }
      : { id: `plan_${this.plans.size + 1}`, patientId, title, status: "draft", items: added };
    this.plans.set(plan.id, plan);
    this.#byKey.set(key, plan);
    return plan;
  }
}
