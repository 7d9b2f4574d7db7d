import { failureCode } from "../machines/failure.ts";
import { asked, StoreRefused } from "./database-error.ts";
import type { Database } from "./fence.ts";
import type { Calls, ModelCallRow } from "./store.ts";
import { clear } from "./text.ts";

/** Telemetry: nothing here throws, and nothing here shares a statement with a turn. */
export function postgresCalls({ sql, onBad }: Database): Calls {
  const insert = (rows: readonly ModelCallRow[]) =>
    asked(sql`
      insert into model_calls (session_id, turn_id, step, attempt, profile, issuer, outcome,
        input, output, thinking, cached, ms, projector, purpose, call_id)
      select * from jsonb_to_recordset(${sql.json(rows.map(columns) as never)}) as row (
        session_id uuid, turn_id uuid, step integer, attempt integer, profile text, issuer text, outcome text,
        input integer, output integer, thinking integer, cached integer, ms integer, projector integer,
        purpose text, call_id text)
      on conflict do nothing`);

  const record = async (rows: readonly ModelCallRow[]): Promise<void> => {
    if (rows.length === 0) return;
    try {
      await insert(rows);
    } catch (error) {
      if (rows.length === 1 || !(error instanceof StoreRefused)) {
        for (const _ of rows) onBad(codeOf(error));
        return;
      }
      // One bad row refuses the whole statement; alone, each gets its own answer.
      for (const row of rows) await record([row]);
    }
  };
  return { record };
}

function columns(row: ModelCallRow) {
  return {
    session_id: row.sessionId,
    turn_id: row.turnId,
    step: row.step,
    attempt: row.attempt,
    profile: clear(row.profile),
    issuer: clear(row.issuer),
    outcome: clear(row.outcome),
    ...row.usage,
    ms: Math.round(row.ms),
    projector: row.projector,
    purpose: row.purpose ?? "turn",
    call_id: clear(row.callId ?? ""),
  };
}

function codeOf(error: unknown): string {
  return error instanceof StoreRefused ? `refused_${error.sqlstate}` : failureCode(error);
}
