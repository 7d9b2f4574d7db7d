import type { Fragment, Sql } from "postgres";
import type { Entry, PlacedEntry } from "../machines/conversation/entries.ts";
import type { CommandId } from "../machines/ids.ts";
import type { SessionCipher } from "./cipher/session-cipher.ts";
import { isRecord, places } from "./sealed.ts";
import type { Batch, Fence } from "./store.ts";
import { clear } from "./text.ts";

/** A batch with the JSON of its largest parts, made once: it is sealed, and it tells a repeated write from another one. */
export type Written<B extends Batch> = {
  readonly batch: B;
  readonly entries: string;
  /** Of a settlement: its turn. */
  readonly turn: string;
  /** HMAC of everything in it, which shows nothing of what was written. */
  readonly digest: Buffer;
};

export function written<B extends Batch>(cipher: SessionCipher, batch: B): Written<B> {
  const { entries, turn, ...rest }: Batch & { turn?: unknown } = batch;
  const parts = { entries: JSON.stringify(entries), turn: JSON.stringify(turn ?? null) };
  // JSON has no line break, so no two batches look alike.
  const digest = cipher.hmac(`${JSON.stringify(rest)}\n${parts.turn}\n${parts.entries}`);
  return { batch, ...parts, digest };
}

/**
 * Makes the part of a statement that writes a batch, for the rows of `gate`: a CTE that names the session only when the
 * statement may write. Adds the CTEs `e`, `i`, `f` and `d`.
 */
export function batchWrites(sql: Sql, gate: Fragment) {
  const nothing = sql``;

  return (fence: Fence, { batch, entries: json, digest }: Written<Batch>, cipher: SessionCipher): Fragment => {
    const { turnId, entries, intents, finished, anchor } = batch;
    const first = entries[0];
    const row = first
      ? sql`, e as (
        insert into entries (session_id, pos, count, turn_id, kind, tokens, epoch, digest, body)
        select session_id, ${first.pos}, ${entries.length}, ${turnId}, ${kindsOf(entries)},
          ${entries.reduce((sum, { tokens }) => sum + Math.ceil(tokens), 0)}, ${fence.epoch},
          ${digest}, ${cipher.sealJson(places.entries(first.pos), json)}
        from ${gate}
      )`
      : nothing;
    // An update doesn't see a row that its own statement inserts: a call that begins and ends here is stored as ended.
    const begun = intents.map((intent) => ({
      ...intent,
      name: clear(intent.name),
      state: finished.includes(intent.callId) ? "finished" : "intended",
    }));
    const begunBefore = finished.filter((callId) => !intents.some((intent) => intent.callId === callId));
    // A row that an earlier release kept of a read-only call is no intent: it becomes one, as the tool is now.
    const calls = begun.length
      ? sql`, i as (
        insert into tool_calls (session_id, turn_id, call_id, name, read_only, repeatable, key, state)
        select session_id, row."turnId", row."callId", row.name, false, row.repeatable, row.key, row.state
        from ${gate}, jsonb_to_recordset(${sql.json(begun)}) as row (
          "turnId" uuid, "callId" text, name text, repeatable boolean, key text, state text)
        on conflict (session_id, turn_id, call_id) do update set
          name = excluded.name, read_only = false, repeatable = excluded.repeatable, key = excluded.key,
          state = excluded.state
        where tool_calls.read_only
      )`
      : nothing;
    const ended = begunBefore.length
      ? sql`, f as (
        update tool_calls set state = 'finished' from ${gate}
        where tool_calls.session_id = ${gate}.session_id and tool_calls.turn_id = ${turnId}
          and tool_calls.call_id in (select jsonb_array_elements_text(${sql.json(begunBefore)}))
      )`
      : nothing;
    const drafts = anchor
      ? sql`, d as (
        delete from summaries using ${gate}
        where summaries.session_id = ${gate}.session_id and summaries.anchor <= ${anchor.from}
      )`
      : nothing;
    return sql`${row}${calls}${ended}${drafts}`;
  };
}

/**
 * The CTEs `r` and `told` for a batch that tells the model of actions: `told.n` is by how many fewer are untold. A
 * repeated statement finds them marked and counts none.
 */
export function tells(sql: Sql, gate: Fragment, recorded: readonly CommandId[]): Fragment {
  return sql`, r as (
      update actions set recorded = true from ${gate}
      where actions.session_id = ${gate}.session_id and not actions.recorded
        and actions.command_id in (select jsonb_array_elements_text(${sql.json(recorded)})::uuid)
      returning actions.command_id
    ), told as (
      select count(*)::int as n from r
    )`;
}

export function arePlacedEntries(value: unknown): value is readonly PlacedEntry[] {
  return Array.isArray(value) && value.every((item) => isRecord(item) && isPlaced(item));
}

function isPlaced({ pos, tokens, entry }: Readonly<Record<string, unknown>>): boolean {
  return typeof pos === "number" && typeof tokens === "number" && isRecord(entry) && typeof entry["kind"] === "string";
}

function kindsOf(entries: readonly PlacedEntry[]): string {
  return [...new Set<Entry["kind"]>(entries.map(({ entry }) => entry.kind))].join(",");
}
