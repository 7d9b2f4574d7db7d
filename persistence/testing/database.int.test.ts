import postgres from "postgres";
import { expect, inject, test } from "vitest";
import { testDatabase } from "./database.ts";

test("a test database is empty, takes writes, and is gone after drop, also from under an open connection", async () => {
  const database = await testDatabase();
  const sql = postgres(database.url, { max: 1, onnotice: () => {} });
  await sql`create table marks (id int primary key)`;
  await sql`insert into marks values (1)`;
  expect([...(await sql`select id from marks`)]).toEqual([{ id: 1 }]);

  await database.drop();
  const server = postgres(inject("postgres"), { max: 1 });
  const name = new URL(database.url).pathname.slice(1);
  expect([...(await server`select datname from pg_database where datname = ${name}`)]).toEqual([]);
  await server.end();
  await sql.end({ timeout: 0 });
});

test("databases made at the same time are different ones", async () => {
  const databases = await Promise.all(Array.from({ length: 5 }, () => testDatabase()));
  expect(new Set(databases.map(({ url }) => url)).size).toBe(5);
  await Promise.all(databases.map((database) => database.drop()));
});
