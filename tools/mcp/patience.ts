import type { Progress } from "@modelcontextprotocol/sdk/types.js";
import type { Clock } from "../clock.ts";
import { McpFailure } from "./failures.ts";

/** How long one request is waited for, in milliseconds. */
export type Waiting = {
  /** In all, whatever progress comes. */
  readonly totalMs: number;
  /** Until the first word, which may be an answer or progress; left out: as long as in all. */
  readonly firstMs?: number;
  /** Between two words, once there was progress; left out: as long as in all. */
  readonly silenceMs?: number;
  /** When the waiting began, for a request that is a second try; left out: now. */
  readonly since?: number;
  /** Asks the server for progress and hands it on, as fast as it comes. */
  readonly onProgress?: (progress: Progress) => void;
};

/** The two alarms of one request. Progress puts off the one of silence and never the one of the total. */
export class Patience {
  readonly #clock: Clock;
  readonly #waiting: Waiting;
  readonly #giveUp: (late: McpFailure) => void;
  readonly #disarmTotal: () => void;
  #disarmSilence: () => void;
  #heardAt: number | undefined;
  #isOver = false;

  constructor(clock: Clock, waiting: Waiting, giveUp: (late: McpFailure) => void) {
    this.#clock = clock;
    this.#waiting = waiting;
    this.#giveUp = giveUp;
    const { totalMs, firstMs = totalMs, since = clock.now() } = waiting;
    const left = since + totalMs - clock.now();
    this.#disarmTotal = clock.schedule(left, () => giveUp(noAnswerWithin(totalMs)));
    // The alarm only looks when progress was last heard of: a flood of it costs no alarms.
    this.#disarmSilence = firstMs < totalMs ? clock.schedule(firstMs, () => this.#look()) : () => undefined;
  }

  heard(): void {
    if (this.#isOver) return;
    const isFirst = this.#heardAt === undefined;
    this.#heardAt = this.#clock.now();
    if (!isFirst) return;
    this.#disarmSilence();
    this.#disarmSilence = this.#clock.schedule(this.#silenceMs, () => this.#look());
  }

  end(): void {
    this.#isOver = true;
    this.#disarmTotal();
    this.#disarmSilence();
  }

  get #silenceMs(): number {
    return Math.min(this.#waiting.silenceMs ?? this.#waiting.totalMs, this.#waiting.totalMs);
  }

  #look(): void {
    const { firstMs = 0 } = this.#waiting;
    const left = this.#heardAt === undefined ? 0 : this.#heardAt + this.#silenceMs - this.#clock.now();
    if (left > 0) this.#disarmSilence = this.#clock.schedule(left, () => this.#look());
    else if (this.#heardAt === undefined) this.#giveUp(noAnswerWithin(firstMs));
    else this.#giveUp(new McpFailure("mcp_timeout", `no sign of progress for ${this.#silenceMs / 1000} s`));
  }
}

const noAnswerWithin = (ms: number) => new McpFailure("mcp_timeout", `no answer within ${ms / 1000} s`);
