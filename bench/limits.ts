import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { WebSocket } from "ws";
import { connect } from "../persistence/postgres.ts";
import { loadUws } from "../runtime/gateway/uws.ts";
import { BenchFailed, timed } from "./harness.ts";

/** One physical limit: `once` gives the milliseconds of one try. */
export type Limiter = { once(): Promise<number>; close(): Promise<void> };

/** One durable insert of `bytes` on a connection of its own: the least that storing anything costs on this disk. */
export async function durableInsert(databaseUrl: string, bytes: number): Promise<Limiter> {
  const sql = connect(databaseUrl, { max: 1 });
  const body = randomBytes(bytes);
  await sql`create table if not exists bench_limit (id bigint generated always as identity primary key, body bytea)`;
  return {
    once: () => timed(() => sql`insert into bench_limit (body) values (${body})`),
    close: () => sql.end({ timeout: 5 }),
  };
}

/** Whether commits really wait for the disk, and how. */
export async function durability(databaseUrl: string): Promise<string> {
  const sql = connect(databaseUrl, { max: 1 });
  try {
    const [row] = await sql<{ fsync: string; commit: string; method: string; folder: string }[]>`
      select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit,
        current_setting('wal_sync_method') as method, current_setting('data_directory') as folder`;
    if (row?.fsync !== "on" || row.commit !== "on") throw new BenchFailed("the database does not wait for the disk");
    return `fsync on, ${row.method}, in ${row.folder}`;
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/**
 * A round trip of `bytes` through a bare uWebSockets.js server: the least that asking anything costs. Each of its sockets
 * knows as much as `seat` gives.
 */
export async function rawEcho(
  bytes: number,
  seat: () => object = () => ({}),
): Promise<Limiter & { readonly url: string }> {
  const uws = loadUws();
  const app = uws.App().ws("/", {
    upgrade: (res, req, context) => {
      const [key, protocol, extensions] = ["key", "protocol", "extensions"].map((name) =>
        req.getHeader(`sec-websocket-${name}`),
      );
      res.upgrade(seat(), key ?? "", protocol ?? "", extensions ?? "", context);
    },
    message: (ws, message, isBinary) => void ws.send(message, isBinary),
  });
  const port = await new Promise<number>((resolve, reject) => {
    app.listen("127.0.0.1", 0, (listening) => {
      if (listening)
        resolve(uws.us_socket_local_port(listening as unknown as Parameters<typeof uws.us_socket_local_port>[0]));
      else reject(new BenchFailed("the echo server can't listen"));
    });
  });
  const url = `ws://127.0.0.1:${port}/`;
  const socket = new WebSocket(url, { perMessageDeflate: false });
  await once(socket, "open");
  const text = "x".repeat(bytes);
  return {
    url,
    once: () =>
      timed(async () => {
        const back = once(socket, "message");
        socket.send(text);
        await back;
      }),
    async close() {
      socket.terminate();
      app.close();
    },
  };
}
