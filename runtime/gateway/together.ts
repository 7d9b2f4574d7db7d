/** The native connection, as frames are sent on it. */
export type Native = {
  send(frame: string): void;
  /** Runs `work` so that what it sends leaves in one system call. */
  cork(work: () => void): void;
  isOpen(): boolean;
};

/** So many characters surely fit into the native layer's 16 KiB, also as UTF-8 of three bytes each. */
const MOST_CHARACTERS = 4_096;

/**
 * Frames that are made in one go leave in one system call, at the latest when the code that runs now has nothing left to
 * do: a turn makes a dozen small frames, and a call costs more than a frame. What is too large for that leaves at once.
 */
export class Together {
  readonly #native: Native;
  readonly #soon: (work: () => void) => void;
  #waiting: string[] = [];
  #characters = 0;

  constructor(native: Native, soon: (work: () => void) => void = process.nextTick) {
    this.#native = native;
    this.#soon = soon;
  }

  send(frame: string): void {
    if (this.#waiting.push(frame) === 1) this.#soon(() => this.flush());
    this.#characters += frame.length;
    if (this.#characters >= MOST_CHARACTERS) this.flush();
  }

  /** Hands over what waits. */
  flush(): void {
    const frames = this.#waiting;
    if (frames.length === 0) return;
    const isSmall = this.#characters < MOST_CHARACTERS;
    this.#waiting = [];
    this.#characters = 0;
    if (!this.#native.isOpen()) return;
    const sendAll = () => {
      for (const frame of frames) this.#native.send(frame);
    };
    if (isSmall && frames.length > 1) this.#native.cork(sendAll);
    else sendAll();
  }
}
