import { turnId } from "../../../machines/ids.ts";
import { supplementCard } from "../../../machines/protocol/cards.ts";
import type { Resolution } from "../../../machines/protocol/commands.ts";
import type { PendingInteraction } from "../../../machines/protocol/interactions.ts";
import type { Random } from "./random.ts";
import type { Sent, Tab } from "./tab.ts";

type Asked = { readonly id: string; readonly revision: number };

/** What people do at their tabs, as chance says. Each method gives back what was done, for the trace. */
export class Hands {
  readonly #random: Random;
  readonly #said: string[] = [];
  readonly #decided: Exclude<Sent, { type: "message" | "cancel" }>[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  speaks(tab: Tab, id = this.#random.uuid()): string {
    const at = this.#said.indexOf(id);
    if (at === -1) this.#said.push(id);
    const which = at === -1 ? this.#said.length : at + 1;
    tab.send({ type: "message", id, text: `message ${which}` });
    return `${tab.name} says message ${which}`;
  }

  repeats(tab: Tab): string {
    return this.#said.length === 0 ? "nobody can repeat" : this.speaks(tab, this.#random.one(this.#said));
  }

  /** `turns`: those that may be named. */
  cancels(tab: Tab, turns: readonly string[]): string {
    const named = this.#random.happens(0.5) ? this.#random.one([...turns, this.#random.uuid()]) : undefined;
    tab.send({ type: "cancel", id: this.#random.uuid(), ...(named !== undefined && { turn_id: turnId(named) }) });
    return `${tab.name} cancels ${named ?? "what runs"}`;
  }

  /** Answers what its own view shows as open. */
  answers(tabs: readonly Tab[]): string {
    const tab = this.#random.one(tabs.filter((one) => one.isReady && one.view.pending !== null));
    const { pending } = tab.view;
    if (pending === null) return "nobody is asked";
    return this.#resolves(tab, pending, this.#resolution(pending));
  }

  /** Answers a card that may be over, was never there, or has another revision by now. */
  answersAnything(tab: Tab): string {
    const cards = tab.view.turns.flatMap(({ blocks }) =>
      blocks.flatMap(({ type, content }) =>
        type === "interaction_request" ? [{ id: String(content["interaction_id"]), revision: 1 }] : [],
      ),
    );
    const known = cards.length > 0 && this.#random.happens(0.8) ? this.#random.one(cards) : undefined;
    const { id } = known ?? { id: this.#random.uuid() };
    return this.#resolves(tab, { id, revision: 1 + this.#random.below(3) }, this.#resolution(tab.view.pending));
  }

  /** Sends an earlier answer or button again, under the same id. */
  insists(tab: Tab): string {
    if (this.#decided.length === 0) return "nobody can insist";
    const command = this.#random.one(this.#decided);
    tab.send(command);
    return `${tab.name} sends ${command.type} ${command.id} again`;
  }

  /** Presses a button of a card that a tab shows; sometimes both tabs do. */
  presses(tabs: readonly Tab[]): string {
    const buttons = tabs.flatMap((tab) =>
      tab.view.turns.flatMap(({ blocks }) =>
        blocks.flatMap(({ block_id, content }) => {
          const card = supplementCard.safeParse(content);
          return card.success ? card.data.supplements.map((item) => ({ block_id, item })) : [];
        }),
      ),
    );
    if (buttons.length === 0) return "there is no button";
    const { block_id, item } = this.#random.one(buttons);
    const { product_id, dosing } = item;
    const variant_id = this.#random.happens(0.05) ? "var_never" : item.variant_id;
    const plan = this.#random.happens(0.25) ? { plan_id: `plan_${1 + this.#random.below(3)}` } : {};
    const ready = tabs.filter((tab) => tab.isReady);
    const pressing = this.#random.happens(0.3) ? ready : ready.slice(0, 1);
    for (const tab of pressing) {
      const id = this.#random.uuid();
      const command = { type: "action", id, block_id, action: "add_to_plan" } as const;
      this.#decides(tab, { ...command, item: { product_id, variant_id, dosing }, ...plan });
    }
    return `${pressing.map(({ name }) => name).join(" and ")} press ${variant_id} ${plan.plan_id ?? ""}`;
  }

  #resolves(tab: Tab, { id: interaction_id, revision }: Asked, resolution: Resolution): string {
    const id = this.#random.uuid();
    this.#decides(tab, { type: "resolve", id, interaction_id, revision, resolution });
    return `${tab.name} resolves ${interaction_id}.${revision}: ${resolution.kind}`;
  }

  #decides(tab: Tab, command: Exclude<Sent, { type: "message" | "cancel" }>): void {
    this.#decided.push(command);
    tab.send(command);
  }

  #resolution(pending: PendingInteraction | null): Resolution {
    const answered = (id: string): Resolution => ({ kind: "answered", selected: [id] });
    const dismissed: Resolution = { kind: "dismissed" };
    const accepted = (edits?: unknown): Resolution => ({ kind: "accepted", ...(edits !== undefined && { edits }) });
    if (pending?.kind === "plan_proposal") {
      return this.#random.weighted([
        [5, accepted()],
        [2, accepted({ items: [{ variant_id: "var_b", dosing: "1 at noon" }] })],
        [1, accepted({ items: [{ variant_id: "var_never", dosing: "1" }] })],
        [2, dismissed],
        [1, answered("powder")],
      ]);
    }
    return this.#random.weighted([
      [4, answered("powder")],
      [3, answered("capsules")],
      [1, answered("tea")],
      [2, dismissed],
      [1, accepted()],
    ]);
  }
}
