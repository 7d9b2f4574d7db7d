import type { Fragment, Sql } from "postgres";
import type { TurnId } from "../machines/ids.ts";
import type { Admission, InboxState } from "./store.ts";

/** Of the inbox row `i`, all null when there is none. */
export function earlierColumns(sql: Sql): Fragment {
  return sql`i.kind, i.turn_id, i.state, i.digest, i.answer`;
}

export type EarlierRow = {
  readonly kind: string | null;
  readonly turn_id: TurnId | null;
  readonly state: InboxState;
  readonly digest: Buffer | null;
  readonly answer: unknown;
};

/** How the command of this row is answered when it comes again; undefined: there is no row. */
export function earlierAnswer(
  row: EarlierRow | undefined,
  kind: "message" | "resolve",
  digest: Buffer,
): Extract<Admission, { kind: "duplicate" | "conflict" }> | undefined {
  if (!row || row.kind === null) return undefined;
  if (row.turn_id === null || row.kind !== kind || !row.digest?.equals(digest)) return { kind: "conflict" };
  return { kind: "duplicate", turnId: row.turn_id, state: row.state, answer: row.answer ?? undefined };
}
