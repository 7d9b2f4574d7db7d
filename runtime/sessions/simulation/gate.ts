import { StoreUnavailable } from "../../../persistence/store.ts";
import type { Random } from "./random.ts";

/** Something outside the process: a statement, a piece of a model's answer, a tool's effect. */
type Act = {
  readonly owner: string;
  readonly name: string;
  readonly run: () => Promise<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly isStatement: boolean;
  /** Set when it was carried out and its answer is under way. */
  answer?: () => void;
};

export type Held = { readonly isStatement?: boolean; readonly isStuck?: boolean; readonly signal?: AbortSignal };

/**
 * Where everything outside waits until the simulation lets it happen: first the act, later, as a step of its own, its
 * answer. One at a time, so that a seed decides in which order the world sees them.
 */
export class Gate {
  readonly #acts: Act[] = [];
  readonly #stuck: Act[] = [];
  readonly #frozen = new Set<string>();
  readonly #random: Random;
  /** How likely a statement fails: half of these were carried out all the same. */
  faults = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  hold<T>(owner: string, name: string, run: () => Promise<T>, held: Held = {}): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const { isStatement = false, isStuck = false, signal } = held;
      const leave = () => {
        this.#remove(act);
        reject(signal?.reason);
      };
      const then =
        <V>(settle: (value: V) => void) =>
        (value: V) => {
          signal?.removeEventListener("abort", leave);
          settle(value);
        };
      const settles = { resolve: then(resolve as Act["resolve"]), reject: then(reject) };
      const act: Act = { owner, name, run, ...settles, isStatement };
      const list = isStuck ? this.#stuck : this.#acts;
      list.push(act);
      if (signal?.aborted) leave();
      else signal?.addEventListener("abort", leave, { once: true });
    });
  }

  get isEmpty(): boolean {
    return this.#ready.length === 0;
  }

  get waiting(): readonly string[] {
    return [...this.#acts, ...this.#stuck].map((act) => `${act.owner} ${act.name}`);
  }

  freeze(owner: string): void {
    this.#frozen.add(owner);
  }

  thaw(owner: string): void {
    this.#frozen.delete(owner);
  }

  /** The process is gone: what it sent may still be carried out, but it hears no answer. */
  cut(owner: string): void {
    for (const act of this.#acts.filter((one) => one.owner === owner)) {
      this.#remove(act);
      if (act.answer !== undefined || !act.isStatement || this.#random.happens(0.5)) continue;
      const nobody = () => undefined;
      this.#acts.push({ ...act, owner: "nobody", resolve: nobody, reject: nobody });
    }
    for (const act of this.#stuck.filter((one) => one.owner === owner)) this.#remove(act);
  }

  /** What hung goes on. */
  release(): void {
    this.#acts.push(...this.#stuck.splice(0));
  }

  /** Lets one thing happen. */
  async step(): Promise<string> {
    const act = this.#random.one(this.#ready);
    if (act.answer) {
      this.#remove(act);
      act.answer();
      return `${act.owner} ${act.name} answered`;
    }
    const fault =
      act.isStatement && this.#random.happens(this.faults) ? this.#random.one(["lost", "refused"]) : undefined;
    act.answer = await outcome(act, fault);
    return `${act.owner} ${act.name}${fault === undefined ? "" : ` ${fault}`}`;
  }

  get #ready(): readonly Act[] {
    return this.#acts.filter((act) => !this.#frozen.has(act.owner));
  }

  #remove(act: Act): void {
    for (const list of [this.#acts, this.#stuck]) {
      const at = list.indexOf(act);
      if (at !== -1) list.splice(at, 1);
    }
  }
}

async function outcome(act: Act, fault: string | undefined): Promise<() => void> {
  const unavailable = new StoreUnavailable(new Error("simulated"));
  if (fault === "refused") return () => act.reject(unavailable);
  try {
    const value = await act.run();
    return fault === "lost" ? () => act.reject(unavailable) : () => act.resolve(value);
  } catch (error) {
    return () => act.reject(fault === "lost" ? unavailable : error);
  }
}
