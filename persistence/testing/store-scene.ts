import { randomBytes, randomUUID } from "node:crypto";
import type { Sql } from "postgres";
import type { Entry, PlacedEntry } from "../../machines/conversation/entries.ts";
import { commandId, nodeId, type SessionId, sessionId, type TurnId, turnId, userId } from "../../machines/ids.ts";
import type { Turn } from "../../machines/protocol/turns.ts";
import { keyRing } from "../cipher/key-ring.ts";
import { connect, openStore } from "../postgres.ts";
import type { AdmitInput, Batch, Fence, Settlement, Store, Taken } from "../store.ts";
import { testDatabase } from "./database.ts";

export const rivera = userId("dr-rivera");
export const chen = userId("dr-chen");
export const LEASE = 30_000;

export type StoreScene = {
  readonly store: Store;
  /** A connection of the test itself, for looking and for breaking things. */
  readonly sql: Sql;
  readonly url: string;
  readonly keys: string;
  /** Codes reported to `onBad`. */
  readonly bad: string[];
  /** The time by which interactions end, in ms; it stands until a test moves it. */
  readonly clock: { at: number };
  /** Statements that the store sent. */
  readonly statements: string[];
  /** Another node: a store with a pool of its own, one connection by default. */
  node(keys?: string, max?: number): Promise<Store>;
  /** Ends everybody's lease on the session. */
  expire(id: SessionId): Promise<void>;
  close(): Promise<void>;
};

/** A migrated database of its own with one node's store. */
export async function storeScene(): Promise<StoreScene> {
  const database = await testDatabase();
  const keys = newKeys("k1");
  const bad: string[] = [];
  const statements: string[] = [];
  const clock = { at: Date.parse("2026-03-01T09:00:00Z") };
  const now = () => clock.at;
  const pools = [
    connect(database.url, { max: 3 }),
    connect(database.url, { max: 3, onStatement: (text) => statements.push(text) }),
  ] as const;
  const others: Sql[] = [];
  return {
    store: await openStore({ sql: pools[1], ring: keyRing(keys), onBad: (code) => bad.push(code), now }),
    sql: pools[0],
    url: database.url,
    keys,
    bad,
    clock,
    statements,
    node(other = keys, max = 1) {
      const sql = connect(database.url, { max });
      others.push(sql);
      return openStore({ sql, ring: keyRing(other), onBad: (code) => bad.push(code), now });
    },
    async expire(id) {
      await pools[0]`update sessions set until = now() - interval '1 second' where id = ${id}`;
    },
    async close() {
      await Promise.all([...pools, ...others].map((sql) => sql.end({ timeout: 1 })));
      await database.drop();
    },
  };
}

/** Sessions asleep, each with turns that have settled, as a database holds that was used for a while; the server has counted them. */
export async function fill({ sql }: StoreScene, sessions = 2_000): Promise<void> {
  await sql`
    with s as (
      insert into sessions (id, owner, agent, status, snapshot, data_key)
      select gen_random_uuid(), 'owner-' || n % 100, 'assist', 'hibernated', decode(repeat('ab', 500), 'hex'), ''
      from generate_series(1, ${sessions}::int) as n
      returning id
    )
    insert into inbox (session_id, command_id, kind, ordinal, turn_id, digest, state)
    select id, gen_random_uuid(), 'message', n, gen_random_uuid(), '', 'settled' from s, generate_series(1, 5) as n`;
  await sql`analyze sessions`;
  await sql`analyze inbox`;
}

/**
 * By which conditions the server finds rows in an index, and which tables it reads whole, in the plan for all values of a
 * statement that it makes with what it knows of the tables now. Sorted, each once.
 */
export async function planOf({ sql }: StoreScene, statement: string): Promise<readonly string[]> {
  const rows = await sql.unsafe<{ "QUERY PLAN": string }[]>(`explain (generic_plan) ${statement}`);
  const found = rows.flatMap((row) => /Index Cond: (.*)|(Seq Scan on \w+)/.exec(row["QUERY PLAN"])?.slice(1) ?? []);
  const lines = found.filter((line) => line !== undefined).map((line) => line.replaceAll(/\$\d+/g, "$"));
  return [...new Set(lines)].sort();
}

export const newKeys = (id: string): string => `${id}:${randomBytes(32).toString("base64")}`;
export const newNode = () => nodeId(randomUUID());
export const newTurn = () => turnId(randomUUID());
export const newCommand = () => commandId(randomUUID());

export async function newSession(store: Store, owner = rivera): Promise<SessionId> {
  const id = sessionId(randomUUID());
  await store.sessions.create(id, owner, "assist");
  return id;
}

export function admission(id: SessionId, changes: Partial<AdmitInput> = {}): AdmitInput {
  return {
    sessionId: id,
    owner: rivera,
    node: newNode(),
    epoch: undefined,
    leaseMs: LEASE,
    commandId: newCommand(),
    kind: "message",
    digest: Buffer.from("digest"),
    turnId: newTurn(),
    body: { type: "message", text: "hello" },
    grant: undefined,
    queueBound: 8,
    nextSeq: 0,
    ...changes,
  };
}

/** The changes of `admission` for the node that holds this fence. */
export const by = (fence: Fence, nextSeq = 0) => ({ node: fence.node, epoch: fence.epoch, nextSeq });

/** Admits a message to a session that sleeps, and takes it. */
export async function admitted(store: Store, id: SessionId, changes: Partial<AdmitInput> = {}) {
  const input = admission(id, changes);
  const admission_ = await store.inbox.admit(input);
  if (admission_.kind !== "admitted" || !admission_.taken) throw new Error(`not taken: ${admission_.kind}`);
  return { input, turnId: input.turnId, fence: admission_.taken.fence, taken: admission_.taken };
}

export async function take(store: Store, id: SessionId): Promise<Taken> {
  const taken = await store.sessions.take(id, newNode(), LEASE);
  if (!taken) throw new Error("somebody else owns it");
  return taken;
}

export const said = (turn: TurnId, pos: number, text = "hello"): PlacedEntry => ({
  pos,
  tokens: 3,
  entry: { kind: "user", turnId: turn, text } satisfies Entry,
});

export function batch(turn: TurnId, entries: readonly PlacedEntry[], changes: Partial<Batch> = {}): Batch {
  return { turnId: turn, entries, intents: [], finished: [], ...changes };
}

export function shown(turn: TurnId, n: number, text = "hello"): Turn {
  return {
    turn_id: turn,
    n,
    cause: "message",
    input: { text },
    outcome: "completed",
    blocks: [{ block_id: turn, idx: 0, type: "text", content: { text }, attempt: 1 }],
  };
}

export function settlement(turn: TurnId, n: number, changes: Partial<Settlement> = {}): Settlement {
  return {
    ...batch(turn, []),
    outcome: "completed",
    turn: shown(turn, n),
    status: "resting",
    nextSeq: 10,
    ...changes,
  };
}

export const frozen = (state: unknown = { value: "hibernating" }) => ({ machine: "session", version: 1, state });

/** A whole turn on a sleeping session, which sleeps again. */
export async function wholeTurn(store: Store, id: SessionId, n: number, pos: number): Promise<void> {
  const { fence, turnId } = await admitted(store, id);
  await store.histories.append(fence, batch(turnId, [said(turnId, pos)], { opens: { n, title: "Title" } }));
  await store.histories.settle(fence, settlement(turnId, n));
  await store.sessions.sleep(fence, frozen(), 10, "resting");
}
