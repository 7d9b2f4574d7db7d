/** Many clients in a process of their own, so that their memory is not the node's. Obeys the bench that started it. */
import { once } from "node:events";
import { WebSocket } from "ws";
import { Talker } from "../client.ts";
import { endWith } from "./child.ts";

const { URL: url = "", ECHO_URL: echoUrl = "", COUNT: count = "0", TEXT: text = "" } = process.env;
const at = { url, cookie: "bench=1" };
const all = Array.from({ length: Number(count) });
const AT_ONCE = 20;
let talkers: readonly Talker[] = [];
let plain: readonly WebSocket[] = [];

const orders: Readonly<Record<string, () => Promise<void>>> = {
  async plain() {
    plain = await few(all, async () => {
      const socket = new WebSocket(echoUrl, { perMessageDeflate: false });
      await once(socket, "open");
      return socket;
    });
  },
  async unplain() {
    for (const socket of plain) socket.terminate();
  },
  async talk() {
    talkers = await few(all, () => Talker.open(at));
    await turns();
  },
  async reattach() {
    for (const talker of talkers) talker.close();
    talkers = await few(talkers, ({ session }) => Talker.open(at, session));
  },
  turns,
  async hangUp() {
    for (const talker of talkers) talker.close();
  },
};

async function turns(): Promise<void> {
  await few(talkers, (talker) => talker.turn(text));
}

/** Some at a time: a crowd is not what is measured. */
async function few<T, U>(items: readonly T[], work: (item: T) => Promise<U>): Promise<readonly U[]> {
  const made: U[] = [];
  for (let from = 0; from < items.length; from += AT_ONCE) {
    made.push(...(await Promise.all(items.slice(from, from + AT_ONCE).map(work))));
  }
  return made;
}

process.on("message", (order: string) => {
  const obey = orders[order] ?? (async () => {});
  void obey().then(
    () => process.send?.("done"),
    (error: unknown) => process.send?.(error instanceof Error ? error.message : "unknown"),
  );
});
endWith(async () => {});
process.stdout.write("swarm ready\n");
