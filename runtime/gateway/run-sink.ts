import type { Signal } from "../../machines/protocol/signals.ts";
import type { Sink } from "../sessions/conversations.ts";

/** Where the signals of an attachment go: held back until the run is open, then passed on. */
export class RunSink implements Sink {
  #held: Signal[] | undefined = [];
  #closed: { readonly code: number } | undefined;
  #hear: (signal: Signal) => void = () => {};
  #end: (code: number) => void = () => {};

  send(signal: Signal): void {
    if (this.#held) this.#held.push(signal);
    else this.#hear(signal);
  }

  close(code: number): void {
    if (this.#held) this.#closed = { code };
    else this.#end(code);
  }

  held(): readonly Signal[] {
    return this.#held ?? [];
  }

  /** `after`: how many of the held signals are known already. The rest goes to `replay`, what comes then to `hear`. */
  release(
    after: number,
    replay: (signal: Signal) => void,
    hear: (signal: Signal) => void,
    end: (code: number) => void,
  ): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    this.#hear = hear;
    this.#end = end;
    for (const signal of held.slice(after)) replay(signal);
    if (this.#closed) end(this.#closed.code);
  }
}
