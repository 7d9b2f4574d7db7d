/** A scripted client on a raw socket: it keeps every frame and hides nothing. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { WebSocket } from "ws";
import type { MessageCommand } from "../../machines/protocol/commands.ts";
import { parseSignal, type Signal, type SignalKind } from "../../machines/protocol/signals.ts";

export type SignalOf<K extends SignalKind> = Extract<Signal, { kind: K }>;
type EndKind = "turn_completed" | "turn_failed" | "turn_cancelled";

export type DialOptions = {
  readonly cookie: string;
  readonly session?: string;
  readonly after?: number;
  readonly origin?: string;
};

/** What a turn came to, as the frames show it. */
export type Answered = {
  readonly turnId: string;
  readonly ending: EndKind;
  /** Of a turn that failed. */
  readonly code?: string;
  /** Finished text blocks. */
  readonly text: string;
  readonly skills: readonly string[];
  /** Tool calls that ended, `name outcome`. */
  readonly tools: readonly string[];
};

export type Talk = {
  readonly session: string;
  readonly frames: readonly Signal[];
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  send(command: unknown): void;
  /** Sends a message and gives its command id. */
  post(text: string, extras?: Partial<MessageCommand>): string;
  /** The first frame of the kind that fits, past or to come. Rejects when the socket closes before. */
  until<K extends SignalKind>(kind: K, fits?: (signal: SignalOf<K>) => boolean): Promise<SignalOf<K>>;
  /** Sends a message and waits until its turn has ended. */
  say(text: string, extras?: Partial<MessageCommand>): Promise<Answered>;
  /** Waits until a turn has ended. */
  ended(turnId: string): Promise<Answered>;
  close(): Promise<void>;
};

/** The status that an upgrade was refused with; 0 when nobody answered. */
export class UpgradeRefused extends Error {
  readonly status: number;
  constructor(status: number) {
    super(`the upgrade was refused with ${status}`);
    this.status = status;
  }
}

const PATIENCE_MS = 60_000;
const ENDS: readonly string[] = ["turn_completed", "turn_failed", "turn_cancelled"];

/** Connects; rejects with `UpgradeRefused`. */
export async function dial(url: string, { cookie, session, after, origin = url }: DialOptions): Promise<Talk> {
  const query = new URLSearchParams({
    ...(session !== undefined && { session }),
    ...(after !== undefined && { after: String(after) }),
  });
  const socket = new WebSocket(`${url.replace("http", "ws")}/v1/socket?${query}`, "dormouse.v1", {
    headers: { cookie, origin },
    perMessageDeflate: false,
  });
  const inbox = inboxOf(socket);
  await new Promise<void>((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("unexpected-response", (request, response) => {
      reject(new UpgradeRefused(response.statusCode ?? 0));
      request.destroy();
    });
    socket.once("error", () => reject(new UpgradeRefused(0)));
  });
  const { session_id } = (await inbox.until((signal) => signal.kind === "session_opened")) as Signal;
  return talkOf(socket, inbox, session_id);
}

type Inbox = {
  readonly frames: readonly Signal[];
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  until(fits: (signal: Signal) => boolean): Promise<Signal>;
};

function inboxOf(socket: WebSocket): Inbox {
  const frames: Signal[] = [];
  let wake: (() => void)[] = [];
  let ending: { readonly code: number; readonly reason: string } | undefined;
  const stir = () => {
    const waiting = wake;
    wake = [];
    for (const resolve of waiting) resolve();
  };
  socket.on("message", (data) => {
    // A server may say only what the contract knows.
    frames.push(parseSignal(JSON.parse(String(data))) as Signal);
    stir();
  });
  let fault = "";
  socket.on("error", (error) => {
    fault = error.message;
  });
  const closed = once(socket, "close").then(([code, reason]) => {
    ending = { code, reason: String(reason) || fault };
    stir();
    return ending;
  });
  return {
    frames,
    closed,
    async until(fits) {
      let late = false;
      const timer = setTimeout(() => {
        late = true;
        stir();
      }, PATIENCE_MS);
      try {
        for (;;) {
          const found = frames.find(fits);
          if (found) return found;
          const seen = () => frames.map((frame) => frame.kind).join(" ");
          if (ending) throw new Error(`closed (${ending.code} ${ending.reason}) before it came; seen: ${seen()}`);
          if (late) throw new Error(`did not come in ${PATIENCE_MS} ms; seen: ${seen()}`);
          await new Promise<void>((resolve) => wake.push(resolve));
        }
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

function talkOf(socket: WebSocket, inbox: Inbox, session: string): Talk {
  const talk: Talk = {
    session,
    frames: inbox.frames,
    closed: inbox.closed,
    send: (command) => socket.send(JSON.stringify(command)),
    post(text, extras = {}) {
      const command = { type: "message", id: randomUUID(), text, ...extras };
      talk.send(command);
      return command.id;
    },
    until: (async (kind: SignalKind, fits: (signal: Signal) => boolean = () => true) =>
      await inbox.until((signal) => signal.kind === kind && fits(signal))) as Talk["until"],
    async say(text, extras) {
      const id = talk.post(text, extras);
      const answer = await inbox.until(
        ({ kind, data }) => (kind === "message_accepted" || kind === "error") && data.id === id,
      );
      if (answer.kind === "error") throw new Error(`refused: ${answer.data.code}`);
      return await talk.ended((answer as SignalOf<"message_accepted">).data.turn_id);
    },
    async ended(turnId) {
      const end = await inbox.until(({ kind, turn_id }) => ENDS.includes(kind) && turn_id === turnId);
      return answered(inbox.frames, end as SignalOf<EndKind>, turnId);
    },
    async close() {
      socket.close();
      await inbox.closed;
    },
  };
  return talk;
}

function answered(frames: readonly Signal[], end: SignalOf<EndKind>, turnId: string): Answered {
  const own = frames.filter((frame) => frame.turn_id === turnId);
  const texts = new Map<string, string>();
  const skills: string[] = [];
  const tools: string[] = [];
  for (const frame of own) {
    if (frame.kind === "block_reset") texts.delete(frame.data.block_id);
    if (frame.kind === "block_finished" && frame.data.type === "text")
      texts.set(frame.data.block_id, String(frame.data.content["text"]));
    if (frame.kind === "skill_loaded") skills.push(frame.data.name);
    if (frame.kind === "tool_call_finished") tools.push(`${frame.data.name} ${frame.data.outcome}`);
  }
  return {
    turnId,
    ending: end.kind,
    ...(end.kind === "turn_failed" && { code: end.data.code }),
    text: [...texts.values()].join("\n"),
    skills,
    tools,
  };
}
