import type { CommandId } from "../../machines/ids.ts";
import type { ActionEnd } from "../../persistence/store.ts";

/**
 * A session's actions that are under way here: it stays awake until they have ended. They run one after the other, so
 * that each finds the plans as the one before left them.
 */
export class Acting {
  /** A held one has no run yet. */
  readonly #runs = new Map<CommandId, Promise<ActionEnd> | undefined>();
  /** How those went that ended here: whoever read before that they had not must not run them again. */
  readonly #ends = new Map<CommandId, ActionEnd>();
  readonly #keeping = new Set<Promise<void>>();
  #last: Promise<unknown> = Promise.resolve();
  #over: (() => void)[] = [];

  get size(): number {
    return this.#runs.size;
  }

  has(id: CommandId): boolean {
    return this.#runs.has(id);
  }

  /** Keeps the session awake for an action that may start. */
  hold(id: CommandId): void {
    if (!this.#runs.has(id)) this.#runs.set(id, undefined);
  }

  /** Nothing was started under the hold. */
  release(id: CommandId): void {
    if (this.#runs.get(id) === undefined) this.#end(id);
  }

  /** The one run of an action here, however many wait for it. */
  start(id: CommandId, work: () => Promise<ActionEnd>): Promise<ActionEnd> {
    const running = this.#runs.get(id);
    if (running !== undefined) return running;
    const ended = this.#ends.get(id);
    if (ended !== undefined) return Promise.resolve(ended);
    const once = async () => {
      const end = await work();
      this.#ends.set(id, end);
      return end;
    };
    const run = this.inOrder(once).finally(() => this.#end(id));
    this.#runs.set(id, run);
    return run;
  }

  /** Runs other work on plans between the actions: it finds them as the one before left them, and they as it does. */
  inOrder<T>(work: () => Promise<T>): Promise<T> {
    const run = this.#last.then(work);
    // Whoever waits for it hears of a failure; nobody may be waiting any more.
    this.#last = run.catch(() => undefined);
    return run;
  }

  /** Runs the statement that makes an end durable. Until its answer is here, the database may tell what nobody was shown. */
  async keep(write: () => Promise<void>): Promise<void> {
    const keeping = write();
    this.#keeping.add(keeping);
    await keeping.finally(() => this.#keeping.delete(keeping));
  }

  /** Resolves when no such statement is under way. False: one was. */
  async isKept(): Promise<boolean> {
    if (this.#keeping.size === 0) return true;
    await Promise.allSettled(this.#keeping);
    return false;
  }

  /** Resolves when none is under way. */
  async whenOver(): Promise<void> {
    while (this.size > 0) await new Promise<void>((resolve) => this.#over.push(resolve));
  }

  #end(id: CommandId): void {
    this.#runs.delete(id);
    if (this.size > 0) return;
    for (const resolve of this.#over.splice(0)) resolve();
  }
}
