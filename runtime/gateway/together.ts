/** The native connection, as frames are sent on it. */
export type Native = {
  send(frame: string): void;
  /** Runs `work` so that what it sends leaves in one system call. */
  cork(work: () => void): void;
  isOpen(): boolean;
  /** A frame could not be sent, nor will any that follows be: the connection has to end. */
  failed(error: unknown): void;
};

/** So many characters surely fit into the native layer's 16 KiB, also as UTF-8 of three bytes each. */
const MOST_CHARACTERS = 4_096;

/**
 * Frames that are made in one go leave in one system call, at the latest when the code that runs now has nothing left to
 * do: a turn makes a dozen small frames, and a call costs more than a frame. What is too large for that leaves at once.
 * Never throws: who sends has other connections to serve, and at the end of the running code nobody would catch it.
 */
export class Together {
  readonly #native: Native;
  readonly #soon: (work: () => void) => void;
  #waiting: string[] = [];
  #characters = 0;
  #hasFailed = false;

  constructor(native: Native, soon: (work: () => void) => void = process.nextTick) {
    this.#native = native;
    this.#soon = soon;
  }

  send(frame: string): void {
    // What waits is small enough to leave in one call: only with this frame it would not be.
    if (this.#characters + frame.length >= MOST_CHARACTERS) this.flush();
    if (frame.length >= MOST_CHARACTERS) {
      this.#handOver([frame]);
      return;
    }
    if (this.#waiting.push(frame) === 1) this.#soon(() => this.flush());
    this.#characters += frame.length;
  }

  /** Hands over what waits. */
  flush(): void {
    const frames = this.#waiting;
    if (frames.length === 0) return;
    this.#waiting = [];
    this.#characters = 0;
    this.#handOver(frames);
  }

  #handOver(frames: readonly string[]): void {
    if (this.#hasFailed || !this.#native.isOpen()) return;
    const sendAll = () => {
      for (const frame of frames) this.#native.send(frame);
    };
    try {
      if (frames.length > 1) this.#native.cork(sendAll);
      else sendAll();
    } catch (error) {
      this.#hasFailed = true;
      this.#native.failed(error);
    }
  }
}
