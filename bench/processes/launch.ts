import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { BenchFailed, type Setup, within } from "../harness.ts";

const START_MS = 60_000;
const STOP_MS = 40_000;
const SAID_LINES = 200;

export type Options = Pick<Setup, "ends"> & {
  /** Added to the little that every process gets: nothing else of our own environment reaches it. */
  readonly env?: Readonly<Record<string, string>>;
};

/** A process of ours. It has a group of its own, so that Ctrl-C reaches it through us and in order. */
export class Launched {
  readonly #name: string;
  readonly #child: ChildProcess;
  readonly #said: string[] = [];
  readonly #waiting = new Set<() => void>();
  readonly exited: Promise<number | null>;

  constructor(name: string, child: ChildProcess) {
    this.#name = name;
    this.#child = child;
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => this.#hear(text));
    this.exited = once(child, "exit").then(([code]) => code as number | null);
  }

  /** 0 when it could not be started. */
  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** The first group of the first line that fits, said already or later. Throws when the process ends before. */
  async line(pattern: RegExp): Promise<string> {
    const find = () => pattern.exec(this.#said.join(""))?.[1];
    const found = new Promise<string>((resolve, reject) => {
      const look = () => {
        const text = find();
        if (text !== undefined) resolve(text);
      };
      this.#waiting.add(look);
      look();
      void this.exited.then((code) => reject(new BenchFailed(`${this.#name} ended with ${code}: ${this.tail}`)));
    });
    return await within(START_MS, this.#name, found);
  }

  /** Sends the process a signal and gives its exit code; kills it when it does not end. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> {
    this.#child.kill(signal);
    try {
      return await within(STOP_MS, `the end of ${this.#name}`, this.exited);
    } catch (error) {
      this.#child.kill("SIGKILL");
      throw error;
    }
  }

  /** Asks a child of ours over its channel. */
  async ask(question: string): Promise<unknown> {
    const answered = once(this.#child, "message");
    this.#child.send(question);
    const [answer] = (await within(START_MS, this.#name, answered)) as [unknown];
    return answer;
  }

  /** The last words of the process. */
  get tail(): string {
    return this.#said.join("").trim().split("\n").slice(-3).join(" | ");
  }

  #hear(text: string): void {
    this.#said.push(text);
    if (this.#said.length > SAID_LINES) this.#said.shift();
    for (const look of this.#waiting) look();
  }
}

/** Starts a module of this package, such as `runtime/main`, from the sources or from `dist` as we run ourselves. */
export function launch(module: string, { ends, env = {} }: Options): Launched {
  const own = fileURLToPath(import.meta.url);
  const file = fileURLToPath(new URL(`../../${module}${extname(own)}`, import.meta.url));
  const { PATH = "", HOME = "", TMPDIR } = process.env;
  const child = spawn(process.execPath, [...process.execArgv, file], {
    detached: true,
    env: { PATH, HOME, ...(TMPDIR !== undefined && { TMPDIR }), ...env },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  const launched = new Launched(module, child);
  ends.add(module, () => launched.stop());
  return launched;
}
