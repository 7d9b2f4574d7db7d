import { isDeepStrictEqual } from "node:util";
import type { View } from "../../../client/view.ts";
import type { PlacedEntry } from "../../../machines/conversation/entries.ts";
import type { SignalData } from "../../../machines/protocol/signals.ts";
import type { ActionDone } from "../../../machines/protocol/turns.ts";
import type { Stored } from "./oracle.ts";
import type { Sent } from "./tab.ts";

type Receipt = SignalData<"interaction_receipt">;
type Pressed = SignalData<"action_receipt">;
type Broken = (problem: string) => void;

/** What the database holds of what was asked and pressed. */
export type StoredAsking = {
  /** What may be answered now. */
  readonly open: { readonly id: string; readonly revision: number } | undefined;
  readonly actions: readonly { readonly command: string; readonly state: string; readonly recorded: boolean }[];
  /** How many of them no turn has told the model of, as the session counts them. */
  readonly untold: number;
  /** As a page shows them, by turn. */
  readonly shown: readonly (ActionDone & { readonly turnId: string })[];
  /** Variants in each plan of the platform. */
  readonly plans: ReadonlyMap<string, readonly string[]>;
};

/** What must hold of questions, proposals and buttons. */
export class AskingOracle {
  readonly #broken: Broken;
  readonly #resolves = new Map<string, Extract<Sent, { type: "resolve" }>>();
  readonly #presses = new Map<string, Extract<Sent, { type: "action" }>>();
  readonly #accepted = new Map<string, Receipt>();
  readonly #refused = new Map<string, Receipt>();
  readonly #pressed = new Map<string, Pressed>();
  /** By interaction: the numbers under which its end was shown. */
  readonly #ends = new Map<string, Map<number, SignalData<"interaction_resolved">>>();

  constructor(broken: Broken) {
    this.#broken = broken;
  }

  sent(command: Sent): void {
    if (command.type === "resolve") this.#resolves.set(command.id, command);
    if (command.type === "action") this.#presses.set(command.id, command);
  }

  resolved(receipt: Receipt): void {
    const { id, interaction_id, result, turn_id } = receipt;
    if (result !== "accepted") {
      if (result !== "duplicate" && turn_id !== undefined) this.#broken(`${result} began turn ${turn_id}`);
      this.#refused.set(id, receipt);
      return;
    }
    if (turn_id === undefined) this.#broken(`resolve ${id} was accepted without a turn`);
    const before = this.#accepted.get(id);
    if (before !== undefined && before.turn_id !== turn_id) this.#broken(`resolve ${id} got two turns`);
    const { revision } = this.#resolves.get(id) ?? {};
    for (const [other, one] of this.#accepted) {
      const isSame = one.interaction_id === interaction_id && this.#resolves.get(other)?.revision === revision;
      if (isSame && other !== id) this.#broken(`${interaction_id}.${revision} was resolved twice`);
    }
    this.#accepted.set(id, receipt);
  }

  pressed(receipt: Pressed): void {
    const before = this.#pressed.get(receipt.id);
    if (before?.result === "done" && receipt.result !== "done")
      this.#broken(`action ${receipt.id} was done and is ${receipt.result}`);
    this.#pressed.set(receipt.id, receipt);
  }

  ended(seq: number, data: SignalData<"interaction_resolved">): void {
    const ends = this.#ends.get(data.interaction_id) ?? new Map();
    this.#ends.set(data.interaction_id, ends.set(seq, data));
  }

  /** Whether a plan may be written under this key at all. */
  mayWrite(key: string): boolean {
    if (this.#presses.has(key.slice(key.indexOf(".") + 1))) return true;
    return [...this.#resolves.values()].some(
      ({ interaction_id, revision, resolution }) =>
        resolution.kind === "accepted" && key === `${interaction_id}.${revision}`,
    );
  }

  /** Each question has one end, in its place. */
  history(entries: readonly PlacedEntry[], open: StoredAsking["open"] | "unknown"): void {
    let asked: string | undefined;
    const told = new Set<string>();
    for (const { entry } of entries) {
      if (entry.kind === "interaction") {
        if (asked !== undefined) this.#broken(`${entry.interactionId} was asked while ${asked} had no end`);
        asked = `${entry.interactionId}.${entry.pending.revision}`;
      }
      if (entry.kind === "resolution") {
        if (asked === undefined || !asked.startsWith(entry.interactionId))
          this.#broken(`${entry.interactionId} ended (${entry.by}) while ${asked ?? "nothing"} was asked`);
        asked = undefined;
      }
      if (entry.kind === "user" && asked !== undefined) this.#broken(`the user spoke while ${asked} had no end`);
      if (entry.kind === "action") {
        if (told.has(entry.commandId)) this.#broken(`the model was told twice of ${entry.commandId}`);
        told.add(entry.commandId);
      }
    }
    if (open === "unknown") return;
    const isOpen = open && `${open.id}.${open.revision}`;
    if (isOpen !== undefined && isOpen !== asked) this.#broken(`${isOpen} is open, history asks ${asked}`);
  }

  /** At the end of a life. */
  settled(stored: Stored, views: ReadonlyMap<string, View>): void {
    const { asking, entries } = stored;
    this.history(entries, asking.open);
    const rows = new Map(stored.rows.map((row) => [row.command, row]));
    for (const [command, { turn_id }] of this.#accepted)
      if (rows.get(command)?.turn !== turn_id) this.#broken(`accepted answer ${command} is lost`);
    for (const [command, { result }] of this.#refused)
      if (rows.has(command) && !this.#accepted.has(command))
        this.#broken(`resolve ${command} was told ${result} and has a turn`);
    this.#compareActions(asking, entries);
    this.#compareAccepts(stored);
    for (const [id, ends] of this.#ends) this.#compareEnds(id, [...ends.values()], entries);
    for (const [plan, variants] of asking.plans) {
      const twice = variants.filter((one, at) => /_[xy]$/.test(one) && variants.indexOf(one) < at);
      if (twice.length > 0) this.#broken(`${plan} holds ${twice.join()} twice`);
    }
    for (const [name, view] of views) this.#compareView(name, view, asking);
  }

  #compareActions({ actions, untold }: StoredAsking, entries: readonly PlacedEntry[]): void {
    const told = new Set(entries.flatMap(({ entry }) => (entry.kind === "action" ? [entry.commandId as string] : [])));
    for (const { command, recorded } of actions)
      if (recorded !== told.has(command)) this.#broken(`action ${command} was told: ${recorded}, history says not so`);
    const left = actions.filter(({ recorded }) => !recorded).length;
    if (left !== untold) this.#broken(`${left} actions are untold, the session counts ${untold}`);
    const byCommand = new Map(actions.map((row) => [row.command, row]));
    for (const row of actions) if (!this.#presses.has(row.command)) this.#broken(`nobody pressed ${row.command}`);
    for (const [command, { result, duplicate }] of this.#pressed) {
      const state = byCommand.get(command)?.state;
      if (result === "done" && state !== "done") this.#broken(`action ${command} is said to be done and is ${state}`);
      if (result === "failed" && state === "done") this.#broken(`action ${command} is said to have failed and is done`);
      if (result === "invalid" && state !== undefined && !duplicate) this.#broken(`invalid ${command} is ${state}`);
    }
  }

  /** An accepted proposal that had its turn has exactly one outcome. */
  #compareAccepts({ rows, entries }: Stored): void {
    for (const { command, state } of rows) {
      const sent = this.#resolves.get(command);
      if (sent?.resolution.kind !== "accepted" || state !== "settled") continue;
      const outcomes = entries.filter(({ entry }) => entry.kind === "action" && entry.commandId === command);
      if (outcomes.length !== 1) this.#broken(`accepted proposal ${command} has ${outcomes.length} outcomes`);
    }
  }

  #compareEnds(id: string, ends: readonly SignalData<"interaction_resolved">[], entries: readonly PlacedEntry[]): void {
    const ofIt = entries.flatMap(({ entry }) =>
      (entry.kind === "interaction" || entry.kind === "resolution") && entry.interactionId === id ? [entry] : [],
    );
    const asked = ofIt.filter((entry) => entry.kind === "interaction").length;
    if (ends.length > asked) this.#broken(`${id} was asked ${asked} times and shown to end ${ends.length} times`);
    const told = ofIt.flatMap((entry) => (entry.kind === "resolution" ? [entry.by] : []));
    // The last end may not be in the history yet, and of an early one the clients may not have heard.
    // A message that comes in the moment in which the time is over: the database decides, the node tells by its clock.
    const how = (by: string) => (by === "user" ? by : "closed");
    const unknown = ends.filter(({ by }, at) => at < told.length && !told.map(how).includes(how(by)));
    if (unknown.length > 0) this.#broken(`${id} ended as ${told.join()}, shown was ${ends.map(({ by }) => by).join()}`);
  }

  #compareView(name: string, { pending, turns }: View, { open, shown }: StoredAsking): void {
    const seen = pending && { id: pending.id, revision: pending.revision };
    if (!isDeepStrictEqual(seen, open ?? null))
      this.#broken(`${name} shows ${JSON.stringify(seen)} as open, stored is ${JSON.stringify(open ?? null)}`);
    for (const turn of turns) {
      const held = turn.actions.filter(({ result }) => result !== "failed");
      const kept = shown.flatMap(({ turnId, ...action }) => (turnId === turn.turn_id ? [action] : []));
      if (!isDeepStrictEqual(sorted(held), sorted(kept)))
        this.#broken(`${name} shows actions ${JSON.stringify(held)}\n   stored are ${JSON.stringify(kept)}`);
    }
  }
}

const sorted = (actions: readonly ActionDone[]) => actions.map((one) => JSON.stringify(one, keysOf(one))).sort();
const keysOf = (one: object) =>
  [...new Set(JSON.stringify(one).match(/"\w+":/g) ?? [])].map((key) => key.slice(1, -2)).sort();
