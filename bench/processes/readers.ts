/** One client that reads and many that stop reading, on one session. Obeys the bench that started it. */
import { once } from "node:events";
import { WebSocket } from "ws";
import { Talker } from "../client.ts";
import { endWith } from "./child.ts";

const { URL: url = "", COUNT: count = "0" } = process.env;
const at = { url, cookie: "bench=1" };
let talker: Talker | undefined;
let slow: readonly WebSocket[] = [];

const orders: Readonly<Record<string, () => Promise<unknown>>> = {
  async begin() {
    talker = await Talker.open(at);
    return "done";
  },
  async slow() {
    const session = talker?.session ?? "";
    slow = await Promise.all(Array.from({ length: Number(count) }, () => stopReading(session)));
    return "done";
  },
  turn: async () => await talker?.turn("tell me everything"),
  /** How many of the slow ones were closed with which code, once they read again. */
  async end() {
    const closed: Record<string, number> = {};
    for (const socket of slow) {
      const code = await closeCode(socket);
      closed[code] = (closed[code] ?? 0) + 1;
    }
    slow = [];
    await talker?.asleep();
    talker?.close();
    return closed;
  },
};

async function stopReading(session: string): Promise<WebSocket> {
  const socket = new WebSocket(`${url.replace("http", "ws")}/v1/socket?session=${session}`, "dormouse.v1", {
    headers: { cookie: at.cookie, origin: new URL(url).origin },
    perMessageDeflate: false,
  });
  socket.on("error", () => {});
  await once(socket, "message");
  socket.pause();
  return socket;
}

/** A socket that is still open was not too slow; it is closed here. */
async function closeCode(socket: WebSocket): Promise<string> {
  const closed = once(socket, "close");
  socket.resume();
  const open = setTimeout(() => socket.close(1000), 2_000);
  const [code] = (await closed) as [number];
  clearTimeout(open);
  return String(code);
}

process.on("message", (order: string) => {
  const obey = orders[order] ?? (async () => "no such order");
  void obey().then(
    (answer) => process.send?.(answer),
    (error: unknown) => process.send?.(error instanceof Error ? error.message : "unknown"),
  );
});
endWith(async () => {});
process.stdout.write("readers ready\n");
