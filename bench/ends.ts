type End = { readonly name: string; readonly close: () => Promise<unknown> | unknown };

/** What a bench has started. Everything is ended, last first, also when one of the ends fails. */
export class Ends {
  readonly #ends: End[] = [];
  #closing: Promise<readonly string[]> | undefined;
  #shut = false;

  /** Gives a function that ends it before the others. Added while everything ends, it ends too. */
  add(name: string, close: End["close"]): () => Promise<void> {
    const end: End = { name, close };
    const now = async () => {
      const at = this.#ends.indexOf(end);
      if (at < 0) return;
      this.#ends.splice(at, 1);
      await close();
    };
    this.#ends.push(end);
    if (this.#shut) void now().catch(() => undefined);
    return now;
  }

  /** As `closeAll`, for good: what is added later ends at once. */
  shut(): Promise<readonly string[]> {
    this.#shut = true;
    return this.closeAll();
  }

  /** Gives one line for each thing that could not be ended. */
  closeAll(): Promise<readonly string[]> {
    this.#closing ??= this.#closeAll().finally(() => {
      this.#closing = undefined;
    });
    return this.#closing;
  }

  async #closeAll(): Promise<readonly string[]> {
    const problems: string[] = [];
    for (let end = this.#ends.pop(); end; end = this.#ends.pop()) {
      try {
        await end.close();
      } catch (error) {
        problems.push(`${end.name} could not be ended: ${error instanceof Error ? error.message : "unknown"}`);
      }
    }
    return problems;
  }
}
