import postgres from "postgres";
import { postgresActions } from "./actions.ts";
import { type BlobStore, noBlobs } from "./blobs/blob-store.ts";
import { postgresBlobs } from "./blobs/blobs.ts";
import { postgresBundles } from "./bundles.ts";
import { postgresCalls } from "./calls.ts";
import type { KeyRing } from "./cipher/key-ring.ts";
import type { Database } from "./fence.ts";
import { postgresGrants } from "./grants.ts";
import { postgresHistories } from "./histories.ts";
import { postgresInbox } from "./inbox.ts";
import { postgresInteractions } from "./interactions.ts";
import { postgresNodes } from "./nodes.ts";
import { postgresResults } from "./results.ts";
import { sessionKeys } from "./session-keys.ts";
import { postgresSessions } from "./sessions.ts";
import type { Store } from "./store.ts";
import { postgresSubagents } from "./subagents.ts";
import { postgresSummaries } from "./summaries.ts";
import { postgresTurns } from "./turns.ts";
import { type Upgrade, upgrade } from "./upgrade.ts";

export type ConnectOptions = {
  /** Most connections at a time; 10 by default. */
  readonly max?: number;
  /** False behind a pooler in transaction mode: statements get no names. */
  readonly prepare?: boolean;
  /** Told the code of each notice of the server, never its text. */
  readonly onNotice?: (code: string) => void;
  /** Told the text of each statement, with `$1` for values. */
  readonly onStatement?: (text: string) => void;
};

/**
 * A pool of connections. It connects when it is first asked and again after a failure; a connection that breaks while
 * idle is replaced silently.
 */
export function connect(url: string, options: ConnectOptions = {}): postgres.Sql {
  const { onNotice, onStatement } = options;
  return postgres(url, {
    max: options.max ?? 10,
    prepare: options.prepare ?? true,
    connect_timeout: 10,
    // Seconds before a lost connection is tried again: statements wait for it, so never the driver's twenty.
    backoff: (tries) => Math.min(tries * 0.1, 1),
    // Array types are never sent: no extra round trip when a connection opens.
    fetch_types: false,
    onnotice: (notice) => onNotice?.(notice["code"] ?? "unknown"),
    connection: { application_name: "dormouse" },
    ...(onStatement && { debug: (_: number, text: string) => onStatement(text) }),
  });
}

export type StoreOptions = {
  readonly sql: postgres.Sql;
  readonly ring: KeyRing;
  /** Told the code of what was skipped: a refused telemetry row, a title that can't be opened. */
  readonly onBad?: (code: string) => void;
  /** Where the bytes of uploads are kept; none by default. */
  readonly blobs?: BlobStore;
  /** Decides when the time of an interaction is over; the system's clock by default. */
  readonly now?: () => number;
  /** Most session ciphers kept in memory. */
  readonly cachedKeys?: number;
  /** How the database is brought to this release; at once by default. */
  readonly upgrade?: Upgrade;
};

/**
 * Brings the database up to date and opens it. Everything that the store throws is a `Failure`: `StoreUnavailable`
 * (try again), `StoreRefused` (a bug), `OwnershipLost`, `SessionBroken`, `TurnNotOpen`; here also `DatabaseNewer` and,
 * from a wait that was told to stop, the reason of its signal.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  await upgrade(options.sql, options.upgrade ?? { kind: "at_once" });
  return storeOn(options);
}

/** The store of a database that is up to date already. */
export function storeOn(options: StoreOptions): Store {
  const { sql, ring, onBad = () => {}, blobs: bytes = noBlobs, now = Date.now, cachedKeys } = options;
  const database: Database = { sql, ring, keys: sessionKeys(sql, ring, cachedKeys), onBad, now };
  const blobs = postgresBlobs(database, bytes);
  return Object.freeze({
    sessions: postgresSessions(database, blobs.removeErased),
    inbox: postgresInbox(database),
    histories: postgresHistories(database),
    turns: postgresTurns(database),
    interactions: postgresInteractions(database),
    actions: postgresActions(database),
    grants: postgresGrants(database),
    nodes: postgresNodes(database),
    calls: postgresCalls(database),
    summaries: postgresSummaries(database),
    subagents: postgresSubagents(database),
    bundles: postgresBundles(database),
    results: postgresResults(database),
    blobs,
  });
}
