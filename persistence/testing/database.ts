import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { inject } from "vitest";

/** An empty database of one test. */
export type TestDatabase = {
  readonly url: string;
  /** Removes the database, also from under open connections. */
  drop(): Promise<void>;
};

/** Creates `test_<random>` on the server of the global set-up. Works in `x.int.test.ts` and `x.proc.test.ts`. */
export async function testDatabase(): Promise<TestDatabase> {
  const server = inject("postgres");
  if (!server) throw new Error("no test server here: name the file x.int.test.ts or x.proc.test.ts");
  const name = `test_${randomBytes(8).toString("hex")}`;
  await once(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => once(server, `drop database if exists ${name} with (force)`) };
}

/** A connection of its own for each order: nothing stays open between tests. */
async function once(server: string, order: string): Promise<void> {
  const sql = postgres(server, { max: 1, onnotice: () => {} });
  try {
    await sql.unsafe(order);
  } finally {
    await sql.end();
  }
}
