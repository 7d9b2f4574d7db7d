import type { CommandId, TurnId } from "../machines/ids.ts";
import type { ActionCommand } from "../machines/protocol/commands.ts";
import type { SessionCipher } from "./cipher/session-cipher.ts";
import { asked } from "./database-error.ts";
import { type Database, held } from "./fence.ts";
import { isRecord, opened, places } from "./sealed.ts";
import { type ActionRow, type Actions, type Fence, type Intended, OwnershipLost } from "./store.ts";

type End = NonNullable<ActionRow["end"]>;
type Action = Parameters<Actions["intend"]>[1];
type Stored = {
  readonly command_id: CommandId;
  readonly turn_id: TurnId;
  readonly digest: Buffer;
  readonly state: ActionRow["state"];
  readonly body: Buffer;
  readonly answer: Buffer | null;
  readonly data_key: Buffer;
};

export function postgresActions({ sql, keys }: Database): Actions {
  const cipherOf = async ({ sessionId }: Fence): Promise<SessionCipher> => {
    const cipher = await keys.find(sessionId);
    if (!cipher) throw new OwnershipLost(sessionId);
    return cipher;
  };
  const columns = sql`a.command_id, a.turn_id, a.digest, a.state, a.body, a.answer, s.data_key`;
  const shaped = (id: Fence["sessionId"], row: Stored): ActionRow => {
    const cipher = keys.open(id, row.data_key);
    const action = {
      command: opened(id, cipher, places.actions(row.command_id), row.body, isAction),
      turnId: row.turn_id,
      state: row.state,
    };
    if (row.answer === null) return action;
    return { ...action, end: opened(id, cipher, places.answers(row.command_id), row.answer, isEnd) };
  };

  /** False: this command is there, or another one for the same thing is under way. */
  const intended = async (fence: Fence, action: Action, cipher: SessionCipher): Promise<boolean> => {
    const { command, digest, turnId } = action;
    const [done] = await asked(sql<{ owned: number; added: number }[]>`
      with o as (
        select id from sessions where ${held(sql, fence)} for no key update
      ), a as (
        insert into actions (session_id, command_id, turn_id, digest, what, state, body)
        select id, ${command.id}, ${turnId}, ${digest}, ${whatOf(cipher, command)}, 'intended',
          ${cipher.seal(places.actions(command.id as CommandId), command)}
        from o
        on conflict do nothing
        returning session_id
      ), s as (
        update sessions set unrecorded_actions = unrecorded_actions + 1 from a where id = a.session_id
      )
      select (select count(*)::int from o) as owned, (select count(*)::int from a) as added`);
    if (!done?.owned) throw new OwnershipLost(fence.sessionId);
    return done.added > 0;
  };

  /** Undefined: what stood in the way has ended. */
  const known = async (fence: Fence, action: Action, cipher: SessionCipher): Promise<Intended | undefined> => {
    const { command, digest } = action;
    const [row] = await asked(sql<Stored[]>`
      select ${columns} from actions a join sessions s on s.id = a.session_id
      where a.session_id = ${fence.sessionId}
        and (a.command_id = ${command.id} or a.what = ${whatOf(cipher, command)} and a.state = 'intended')
      order by a.command_id = ${command.id} desc limit 1`);
    if (!row) return undefined;
    const isSameCommand = row.command_id === command.id;
    if (isSameCommand && !row.digest.equals(digest)) return { kind: "conflict" };
    return { kind: "known", isSameCommand, row: shaped(fence.sessionId, row) };
  };

  return {
    async intend(fence, action) {
      const cipher = await cipherOf(fence);
      for (;;) {
        if (await intended(fence, action, cipher)) return { kind: "intended" };
        const earlier = await known(fence, action, cipher);
        if (earlier) return earlier;
      }
    },

    async finish(fence, commandId, { state, shown, text }) {
      const cipher = await cipherOf(fence);
      const [done] = await asked(sql<{ owned: number }[]>`
        with o as (
          select id from sessions where ${held(sql, fence)} for share
        ), a as (
          update actions set state = ${state}, answer = ${cipher.seal(places.answers(commandId), { shown, text })}
          from o where session_id = o.id and command_id = ${commandId} and state = 'intended'
        )
        select count(*)::int as owned from o`);
      if (!done?.owned) throw new OwnershipLost(fence.sessionId);
    },

    async unrecorded(id) {
      const rows = await asked(sql<Stored[]>`
        select ${columns} from actions a join sessions s on s.id = a.session_id
        where a.session_id = ${id} and not a.recorded order by a.ordinal`);
      return rows.map((row) => shaped(id, row));
    },

    async shown(id, turnIds) {
      if (turnIds.length === 0) return [];
      const rows = await asked(sql<Stored[]>`
        select ${columns} from actions a join sessions s on s.id = a.session_id
        where a.session_id = ${id} and a.state = 'done'
          and a.turn_id in (select jsonb_array_elements_text(${sql.json(turnIds)})::uuid)
        order by a.ordinal`);
      return rows.flatMap((row) => {
        const { end, turnId } = shaped(id, row);
        return end ? [{ ...end.shown, turnId }] : [];
      });
    },
  };
}

/** The same for the same item of the same card and plan; tells nothing outside the session. */
function whatOf(cipher: SessionCipher, { block_id, action, item, plan_id }: ActionCommand): Buffer {
  return cipher.hmac(Buffer.from(JSON.stringify(["action", action, block_id, item.variant_id, plan_id ?? null])));
}

function isAction(value: unknown): value is ActionCommand {
  return isRecord(value) && typeof value["id"] === "string" && isRecord(value["item"]);
}

function isEnd(value: unknown): value is End {
  return isRecord(value) && typeof value["text"] === "string" && isRecord(value["shown"]);
}
