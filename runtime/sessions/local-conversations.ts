import { type SessionId, sessionId } from "../../machines/ids.ts";
import type { Limits } from "../../machines/protocol/signals.ts";
import { StoreRefused } from "../../persistence/database-error.ts";
import type { SessionRow } from "../../persistence/store.ts";
import { act } from "./act.ts";
import { begin, readPage } from "./attaching.ts";
import { keepUpload } from "./attachments.ts";
import { handle } from "./commands.ts";
import { type Attachment, type Caller, type Conversations, Refused } from "./conversations.ts";
import type { Directory } from "./directory.ts";
import { refusalOf } from "./refusals.ts";
import type { World } from "./world.ts";

export type ConversationSettings = { readonly limits: Limits; readonly simulated: boolean };

/** The sessions of a single node: every session that is awake at all is awake here. */
export function localConversations(directory: Directory, world: World, settings: ConversationSettings): Conversations {
  const { store } = world;

  /** Every method may reject with `Refused`, and with nothing else. */
  async function refusing<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw refusalOf(error);
    }
  }

  /** In order with the session's other work; what was learnt of a session that nobody watches is forgotten after. */
  function watching<T>(id: SessionId, work: () => Promise<T>): Promise<T> {
    return refusing(() =>
      directory.inOrder(id, async () => {
        try {
          return await work();
        } finally {
          directory.forget(id);
        }
      }),
    );
  }

  async function mine(id: SessionId, { principal }: Caller): Promise<SessionRow> {
    const row = await store.sessions.find(id, principal.userId);
    if (row === undefined) throw new Refused("not_found", "no such session");
    return row;
  }

  /**
   * The caller's session, and its numbers and state where only the database has them: while it sleeps. A row that was
   * read while the session fell asleep is out of date, so it is read again. In order only: nothing may wake it here.
   */
  async function learn(id: SessionId, caller: Caller): Promise<SessionRow> {
    for (;;) {
      const awake = await directory.awake(id);
      const row = await mine(id, caller);
      if (directory.resident(id) !== awake) continue;
      if (awake !== undefined) return row;
      const pending = row.pendingInteraction ? await store.interactions.open(id) : undefined;
      if (directory.resident(id) !== undefined) continue;
      const audience = directory.numberedAudience(id, row.nextSeq, row.nextSeq, true);
      audience.status = row.status;
      audience.pending = pending ?? null;
      return row;
    }
  }

  return {
    create: (caller, wanted) =>
      refusing(async () => {
        const id = wanted ?? sessionId(world.chance.uuid());
        if (wanted && (await store.sessions.find(id, caller.principal.userId))) return id;
        try {
          await store.sessions.create(id, caller.principal.userId, world.settings.agent);
        } catch (error) {
          // Somebody has it: the caller, who was quicker elsewhere, or another user, who stays unknown.
          if (!(error instanceof StoreRefused)) throw error;
          await mine(id, caller);
        }
        return id;
      }),

    list: (caller) =>
      refusing(async () => {
        const rows = await store.sessions.list(caller.principal.userId);
        return rows.map((row) => ({
          session_id: row.sessionId,
          title: row.title,
          status: row.status,
          updated_at: row.updatedAt.toISOString(),
          pending_interaction: row.pendingInteraction,
        }));
      }),

    page: (id, caller, before) =>
      watching(id, async () => {
        await learn(id, caller);
        return { session_id: id, ...(await readPage(directory, world, id, before)) };
      }),

    erase: (id, caller) =>
      watching(id, async () => {
        await mine(id, caller);
        directory.audience(id).dismiss(1000, "the session was erased");
        directory.evict(id);
        await store.sessions.erase(id, caller.principal.userId);
        directory.setbacks.delete(id);
      }),

    upload: (id, caller, mime, content) =>
      refusing(async () => {
        await mine(id, caller);
        return await keepUpload(world, id, mime, content);
      }),

    check: (id, caller) =>
      refusing(async () => {
        await mine(id, caller);
      }),

    attach: (id, first, after, sink) =>
      refusing(async (): Promise<Attachment> => {
        let caller = first;
        // In order with the commands: numbers of a sleeping session are read while nothing wakes it.
        const joined = await watching(id, async () => {
          const row = await learn(id, caller);
          // Learnt again after it: an audience that nobody joined yet may be forgotten while something is awaited.
          if (await refreshGrants(row, caller)) await learn(id, caller);
          const audience = directory.audience(id);
          const thawed = directory.resident(id) !== undefined;
          return await begin(directory, world, audience, after, sink, () =>
            audience.plain("session_opened", {
              session_id: id,
              thawed,
              status: audience.status,
              next_seq: audience.nextSeq,
              agent: world.settings.agent,
              simulated: settings.simulated,
              limits: settings.limits,
            }),
          );
        });
        return {
          deliver: async (command) => {
            try {
              // An action takes its place in the order by itself: what it waits for holds nobody up.
              if (command.type === "action") return await act(directory, world, id, caller, command);
              return await watching(id, () => handle(directory, world, id, caller, command));
            } catch (error) {
              const { code, message } = refusalOf(error);
              return directory.audience(id).plain("error", { id: command.id, code, message });
            } finally {
              directory.forget(id);
            }
          },
          refresh: (next) => {
            caller = next;
          },
          detach: () => {
            directory.audience(id).leave(joined);
            directory.forget(id);
          },
        };
      }),
  };

  /** The same user with a fresh cookie: turns that wait or run act with it from now on. */
  async function refreshGrants({ sessionId: id, status }: SessionRow, caller: Caller): Promise<boolean> {
    const resident = directory.resident(id);
    for (const turn of resident?.rows.keys() ?? []) resident?.callers.set(turn, caller);
    if (resident?.run) resident.run.caller = caller;
    if (!world.settings.grants || status !== "turning") return false;
    const expiresAt = caller.principal.expiresAt ?? world.clock.now() + world.settings.grantMs;
    await store.grants.refresh(id, caller.principal.userId, { ...caller, expiresAt });
    return true;
  }
}
