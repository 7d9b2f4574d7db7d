import type { SessionCipher } from "./cipher/session-cipher.ts";
import { asked } from "./database-error.ts";
import { type Database, held } from "./fence.ts";
import { moment } from "./grants.ts";
import { opened, places } from "./sealed.ts";
import {
  OwnershipLost,
  SessionBroken,
  SUBAGENT_ATTEMPTS,
  type SubagentKey,
  type SubagentRow,
  type SubagentStanding,
  type Subagents,
} from "./store.ts";
import { clear } from "./text.ts";

type Row = SubagentStanding & {
  readonly kind: SubagentRow["kind"];
  readonly code: string | null;
  readonly deadline: Date;
  readonly request: Buffer;
  readonly result: Buffer | null;
  readonly data_key: Buffer;
};

/** Sub-agents by the call that asked for them. Time is the node's (`StoreOptions.now`): deadlines are absolute. */
export function postgresSubagents({ sql, keys, now }: Database): Subagents {
  const at = ({ sessionId, turnId, callId }: SubagentKey) =>
    sql`subagents.session_id = ${sessionId} and subagents.turn_id = ${turnId} and subagents.call_id = ${clear(callId)}`;
  const isOpen = sql`subagents.state in ('waiting', 'running')`;

  const rowOf = (key: SubagentKey, row: Row): SubagentRow => {
    const { sessionId, turnId, callId } = key;
    const cipher = keys.open(sessionId, row.data_key);
    const { kind, attempt } = row;
    const request = opened(sessionId, cipher, places.requests(turnId, callId), row.request, isAny);
    const common = { sessionId, turnId, callId, kind, attempt, deadline: row.deadline.getTime(), request };
    return { ...common, ...endOf(key, cipher, row) };
  };

  async function load(key: SubagentKey): Promise<SubagentRow | undefined> {
    const [row] = await asked(sql<Row[]>`
      select subagents.*, s.data_key from subagents join sessions s on s.id = subagents.session_id where ${at(key)}`);
    return row && rowOf(key, row);
  }

  async function standing(key: SubagentKey): Promise<SubagentStanding | undefined> {
    const [row] = await asked(sql<SubagentStanding[]>`select state, attempt from subagents where ${at(key)}`);
    return row && { state: row.state, attempt: row.attempt };
  }

  return {
    load,
    standing,

    async begin(fence, { turnId, callId, kind, request, deadline }) {
      const { sessionId } = fence;
      const key = { sessionId, turnId, callId };
      const cipher = await keys.find(sessionId);
      if (!cipher) throw new OwnershipLost(sessionId);
      const sealed = cipher.seal(places.requests(turnId, callId), request);
      const [found] = await asked(sql<{ is_held: boolean; is_new: boolean }[]>`
        with o as (
          select id from sessions where ${held(sql, fence)} for share
        ), i as (
          insert into subagents (session_id, turn_id, call_id, kind, deadline, request)
          select id, ${turnId}, ${clear(callId)}, ${kind}, ${moment(deadline)}, ${sealed} from o
          on conflict do nothing returning 1
        )
        select exists (select from o) as is_held, exists (select from i) as is_new`);
      if (!found?.is_held) throw new OwnershipLost(sessionId);
      const row = await load(key);
      if (row === undefined) throw new OwnershipLost(sessionId);
      return { isNew: found.is_new, row };
    },

    async claim(key) {
      const [claimed] = await asked(sql<Row[]>`
        update subagents set state = 'running', attempt = attempt + 1
        from sessions s where s.id = subagents.session_id and ${at(key)} and ${isOpen}
          and attempt < ${SUBAGENT_ATTEMPTS} and deadline > ${moment(now())}
        returning subagents.*, s.data_key`);
      if (claimed) return { kind: "claimed", row: rowOf(key, claimed) };
      const row = await standing(key);
      if (row === undefined) return { kind: "refused", code: "unknown" };
      if (row.state !== "waiting" && row.state !== "running") return { kind: "refused", code: "ended" };
      return { kind: "refused", code: row.attempt < SUBAGENT_ATTEMPTS ? "late" : "attempts_exhausted" };
    },

    async finish(key, attempt, outcome) {
      const { sessionId, turnId, callId } = key;
      const cipher = await keys.find(sessionId);
      if (!cipher) return false;
      const result =
        outcome.state === "finished" ? cipher.seal(places.subagents(turnId, callId), outcome.result) : null;
      const code = outcome.state === "failed" ? clear(outcome.code) : null;
      const bundle = outcome.state === "finished" ? outcome.bundle : undefined;
      const body = bundle && cipher.seal(places.bundles(bundle.bundleId), bundle.body);
      const [ended] = await asked(sql<{ count: number }[]>`
        with e as (
          update subagents set state = ${outcome.state}, result = ${result}, code = ${code}, ended_at = ${moment(now())}
          where ${at(key)} and subagents.state = 'running' and attempt = ${attempt} and deadline > ${moment(now())}
          returning session_id, turn_id, call_id
        ), b as (
          insert into bundles (session_id, bundle_id, turn_id, call_id, body)
          select session_id, ${bundle?.bundleId ?? null}::uuid, turn_id, call_id, ${body ?? null}::bytea
          from e where ${bundle !== undefined}
        )
        select count(*)::int as count from e`);
      if (ended?.count === 1) return true;
      // Its own answer may have been lost: nobody else ends a sub-agent in this attempt and in this way.
      const row = await standing(key);
      return row?.state === outcome.state && row.attempt === attempt;
    },

    async cancel(key, code) {
      const ended = await asked(sql`
        update subagents set state = 'cancelled', code = ${clear(code)}, ended_at = ${moment(now())}
        where ${at(key)} and ${isOpen}`);
      return ended.count === 1;
    },
  };
}

function endOf({ sessionId, turnId, callId }: SubagentKey, cipher: SessionCipher, { state, result, code }: Row) {
  if (state === "waiting" || state === "running") return { state };
  if (state === "finished") {
    if (result === null) throw new SessionBroken(sessionId, new TypeError("a finished sub-agent without a result"));
    return { state, result: opened(sessionId, cipher, places.subagents(turnId, callId), result, isAny) };
  }
  return { state, code: code ?? "unknown" };
}

const isAny = (value: unknown): value is unknown => value !== undefined;
