import { randomUUID } from "node:crypto";
import { WebSocket } from "ws";
import { BenchFailed, within } from "./harness.ts";

/** A server, and the login that its clients come with. */
export type Address = { readonly url: string; readonly cookie: string };

export type Frame = {
  readonly kind: string;
  readonly turn_id?: string;
  readonly data: Readonly<Record<string, unknown>>;
};
type Ending = "turn_completed" | "turn_failed" | "turn_cancelled";
const ENDINGS: ReadonlySet<string> = new Set<Ending>(["turn_completed", "turn_failed", "turn_cancelled"]);
const PATIENCE_MS = 60_000;

export type TurnOptions = {
  /** Hears every frame of the turn. */
  readonly hears?: (frame: Frame) => void;
  /** How long the turn may take. */
  readonly patienceMs?: number;
};

const headersOf = ({ url, cookie }: Address) => ({ cookie, origin: new URL(url).origin });

/** Logs in at a server in demo mode, or at the platform itself. */
export async function login(url: string, user = "dr-rivera"): Promise<Address> {
  const answer = await fetch(`${url}/login?user=${user}`, { redirect: "manual" });
  const cookie = answer.headers.getSetCookie()[0]?.split(";")[0];
  if (cookie === undefined) throw new BenchFailed(`${url} did not log in ${user} (status ${answer.status})`);
  return { url, cookie };
}

export async function makeSession(at: Address): Promise<string> {
  const answer = await fetch(`${at.url}/v1/sessions`, { method: "POST", headers: headersOf(at) });
  if (answer.status !== 201) throw new BenchFailed(`no session was made (status ${answer.status})`);
  return ((await answer.json()) as { session_id: string }).session_id;
}

export type StoredTurn = { readonly turn_id: string; readonly cause: string; readonly outcome?: string };

export async function turnsOf(at: Address, session: string): Promise<readonly StoredTurn[]> {
  const answer = await fetch(`${at.url}/v1/sessions/${session}`, { headers: headersOf(at) });
  if (answer.status !== 200) throw new BenchFailed(`session ${session} can't be read (status ${answer.status})`);
  return ((await answer.json()) as { turns: StoredTurn[] }).turns;
}

type Waiting = {
  readonly hears: (frame: Frame) => boolean;
  readonly done: () => void;
  readonly fail: (why: BenchFailed) => void;
};

/** One real WebSocket on one session. It only looks at what a measurement needs. */
export class Talker {
  readonly session: string;
  readonly #socket: WebSocket;
  readonly #waiting = new Set<Waiting>();
  /** How the last turn ended, as far as this client was told. */
  ending: Ending | undefined;
  #asleep = true;
  #closed: BenchFailed | undefined;

  private constructor(session: string, socket: WebSocket) {
    this.session = session;
    this.#socket = socket;
    socket.on("message", (data: Buffer) => this.#hear(JSON.parse(data.toString("utf8")) as Frame));
    socket.on("close", (code, reason) => this.#gone(`the socket closed with ${code} ${reason.toString("utf8")}`));
    socket.on("error", () => {});
  }

  /** Attaches to `session`, or to a new one; resolves once the server has opened it. */
  static async open(at: Address, session?: string): Promise<Talker> {
    const id = session ?? (await makeSession(at));
    const url = `${at.url.replace("http", "ws")}/v1/socket?session=${id}`;
    const socket = new WebSocket(url, "dormouse.v1", { headers: headersOf(at), perMessageDeflate: false });
    const talker = new Talker(id, socket);
    const refused = new Promise<never>((_, reject) => {
      socket.once("unexpected-response", (_request, { statusCode }) =>
        reject(new BenchFailed(`the socket was refused (status ${statusCode})`)),
      );
      socket.once("error", (cause) => reject(new BenchFailed("the socket can't be opened", { cause })));
    });
    // The newest turns come last: a resync always follows where nothing was applied yet.
    await Promise.race([talker.#until("an attached session", ({ kind }) => kind === "resync"), refused]);
    return talker;
  }

  get closed(): boolean {
    return this.#closed !== undefined;
  }

  /** Sends a message; resolves once its turn has begun. */
  async begin(text: string): Promise<void> {
    this.#say(text);
    await this.#until("a turn that begins", ({ kind }) => kind === "turn_started");
  }

  #say(text: string): void {
    this.ending = undefined;
    this.#asleep = false;
    this.#socket.send(JSON.stringify({ type: "message", id: randomUUID(), text }));
  }

  /**
   * One turn: milliseconds from sending the message to the `state_changed` that follows the settled turn, here at the
   * client. Throws unless the turn completes.
   */
  async turn(text: string, { hears, patienceMs = PATIENCE_MS }: TurnOptions = {}): Promise<number> {
    const began = performance.now();
    this.#say(text);
    let ended = began;
    const isOver = (frame: Frame) => {
      hears?.(frame);
      if (this.ending === undefined || frame.kind !== "state_changed") return false;
      ended = performance.now();
      return true;
    };
    await this.#until("the end of a turn", isOver, patienceMs);
    if (this.ending !== "turn_completed") throw new BenchFailed(`a turn ended with ${this.ending}`);
    return ended - began;
  }

  /** Resolves once the session has gone to sleep after its last turn. */
  async asleep(): Promise<void> {
    if (!this.#asleep) await this.#until("a session that sleeps", () => this.#asleep);
  }

  close(): void {
    this.#socket.terminate();
  }

  #hear(frame: Frame): void {
    if (ENDINGS.has(frame.kind)) this.ending = frame.kind as Ending;
    if (frame.kind === "state_changed") this.#asleep = frame.data["status"] === "hibernated";
    for (const each of [...this.#waiting]) {
      if (frame.kind === "error") each.fail(new BenchFailed(`the server refused a command: ${frame.data["code"]}`));
      else if (each.hears(frame)) each.done();
    }
  }

  #gone(why: string): void {
    this.#closed = new BenchFailed(why);
    for (const each of [...this.#waiting]) each.fail(this.#closed);
  }

  async #until(what: string, hears: (frame: Frame) => boolean, patienceMs = PATIENCE_MS): Promise<void> {
    if (this.#closed) throw this.#closed;
    let forget = () => {};
    const heard = new Promise<void>((done, fail) => {
      const waiting = { hears, done, fail };
      this.#waiting.add(waiting);
      forget = () => void this.#waiting.delete(waiting);
    });
    try {
      await within(patienceMs, what, heard);
    } finally {
      forget();
    }
  }
}
