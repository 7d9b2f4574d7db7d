import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Time as the test moves it. */
export type BoxTimers = { now(): number; after(ms: number, run: () => void): () => void };

/** A load balancer between client and server that forgets connections which are silent for too long. */
export type Middlebox = {
  readonly url: string;
  /** Connections it carries. */
  open(): number;
  /** Connections it dropped because they were silent. */
  dropped(): number;
  /** What is on its way on the connections of now, in these directions, is lost from now on; nobody is told. */
  swallow(directions: readonly ("up" | "down")[]): void;
  close(): Promise<void>;
};

export async function middlebox(url: string, timers: BoxTimers, silentMs: number): Promise<Middlebox> {
  const far = new URL(url);
  const lines = new Set<Line>();
  let dropped = 0;
  const server = createServer((near) => {
    const there = connect(Number(far.port), far.hostname);
    const line = carry(near, there, timers, silentMs, () => {
      dropped += 1;
    });
    lines.add(line);
    near.on("close", () => lines.delete(line));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const near = new URL(url);
  near.port = String((server.address() as AddressInfo).port);
  near.hostname = "127.0.0.1";
  return {
    url: near.origin,
    open: () => lines.size,
    dropped: () => dropped,
    swallow(directions) {
      for (const line of lines) line.swallow(directions);
    },
    async close() {
      server.close();
      for (const line of lines) line.drop();
      await once(server, "close");
    },
  };
}

type Line = { swallow(directions: readonly ("up" | "down")[]): void; drop(): void };

function carry(near: Socket, there: Socket, timers: BoxTimers, silentMs: number, onSilent: () => void): Line {
  let lost: readonly ("up" | "down")[] = [];
  let callOff = () => {};
  const drop = () => {
    callOff();
    near.destroy();
    there.destroy();
  };
  const watch = () => {
    callOff();
    callOff = timers.after(silentMs, () => {
      onSilent();
      drop();
    });
  };
  for (const [from, to, direction] of [
    [near, there, "up"],
    [there, near, "down"],
  ] as const) {
    from.on("error", drop);
    from.on("data", (bytes) => {
      if (lost.includes(direction)) return;
      watch();
      to.write(bytes);
    });
    // A line that swallows everything swallows the end of it too.
    from.on("close", () => lost.includes(direction) || drop());
  }
  watch();
  return {
    swallow(directions) {
      lost = directions;
      // Whoever swallows does not look for silence.
      if (directions.length === 2) callOff();
    },
    drop,
  };
}
