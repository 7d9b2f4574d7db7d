import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A TCP line that can be cut and mended: the far end seems to stop and to start again at the same address. */
export type CutWire = {
  /** `url` with the line in front of it. */
  readonly url: string;
  cut(): Promise<void>;
  mend(): Promise<void>;
  close(): Promise<void>;
};

export async function cutWire(url: string): Promise<CutWire> {
  const far = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const there = connect(Number(far.port), far.hostname);
    for (const [one, other] of [
      [near, there],
      [there, near],
    ] as const) {
      sockets.add(one);
      one.pipe(other);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const near = new URL(url);
  near.port = String(port);
  near.hostname = "127.0.0.1";

  const cut = async () => {
    if (!server.listening) return;
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, "close");
  };
  return {
    url: near.href,
    cut,
    async mend() {
      server.listen(port, "127.0.0.1");
      await once(server, "listening");
    },
    close: cut,
  };
}
