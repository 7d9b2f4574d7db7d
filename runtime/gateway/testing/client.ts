import { once } from "node:events";
import { WebSocket } from "ws";
import type { SignalKind } from "../../../machines/protocol/signals.ts";
import type { Stage } from "./stage.ts";

export type Frame = {
  readonly kind: SignalKind;
  readonly session_id: string;
  readonly data: Readonly<Record<string, unknown>>;
};

export interface Client {
  readonly socket: WebSocket;
  readonly frames: Frame[];
  send(command: unknown): void;
  /** The next frame that was not taken yet. */
  next(): Promise<Frame>;
  /** Code and reason of the close frame; 1006 when there was none. */
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
}

export type ConnectOptions = {
  readonly user?: string;
  readonly origin?: string | undefined;
  readonly query?: string;
  readonly protocol?: string;
};

/** Opens a socket. Rejects with the HTTP status when the upgrade was refused. */
export async function connect(stage: Stage, options: ConnectOptions = {}): Promise<Client> {
  const { user = "rivera", query = "", protocol = "dormouse.v1" } = options;
  const origin = "origin" in options ? options.origin : stage.origin;
  const headers = { cookie: `user=${user}`, ...(origin === undefined ? {} : { origin }) };
  const url = `${stage.gateway.url.replace("http", "ws")}/v1/socket${query}`;
  const socket = new WebSocket(url, protocol, { headers, perMessageDeflate: false });
  const client = clientOf(socket);
  await new Promise<void>((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("unexpected-response", (request, response) => {
      reject(new Error(String(response.statusCode)));
      request.destroy();
    });
    socket.once("error", reject);
  });
  return client;
}

/** The status of an upgrade: 101 (then closed again) or what the server refused it with. */
export async function upgradeStatus(stage: Stage, options: ConnectOptions = {}): Promise<number> {
  try {
    const client = await connect(stage, options);
    client.socket.close();
    await client.closed;
    return 101;
  } catch (error) {
    return Number((error as Error).message);
  }
}

function clientOf(socket: WebSocket): Client {
  const frames: Frame[] = [];
  let taken = 0;
  let wake = (): void => {};
  socket.on("message", (data) => {
    frames.push(JSON.parse(String(data)) as Frame);
    wake();
  });
  socket.on("error", () => {});
  const closed = once(socket, "close").then(([code, reason]) => ({
    code: code as number,
    reason: String(reason),
  }));
  return {
    socket,
    frames,
    closed,
    send: (command) => socket.send(typeof command === "string" ? command : JSON.stringify(command)),
    async next() {
      while (frames.length <= taken) await new Promise<void>((resolve) => (wake = resolve));
      return frames[taken++] as Frame;
    },
  };
}
