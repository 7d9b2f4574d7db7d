import { type SessionId, sessionId } from "../../machines/ids.ts";
import type { Limits } from "../../machines/protocol/signals.ts";
import type { SessionRow } from "../../persistence/store.ts";
import { begin, readPage } from "./attaching.ts";
import { handle, refusalOf } from "./commands.ts";
import { type Attachment, type Caller, type Conversations, Refused } from "./conversations.ts";
import type { Directory } from "./directory.ts";
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

  async function mine(id: SessionId, { principal }: Caller): Promise<SessionRow> {
    const row = await store.sessions.find(id, principal.userId);
    if (row === undefined) throw new Refused("not_found", "no such session");
    return row;
  }

  /** A session that sleeps has its numbers and its state in the database only. */
  function learn(id: SessionId, row: SessionRow): void {
    const audience = directory.audience(id);
    if (directory.resident(id)) return;
    audience.continueFrom(row.nextSeq, row.nextSeq);
    audience.status = row.status;
  }

  return {
    create: (caller) =>
      refusing(async () => {
        const id = sessionId(world.chance.uuid());
        await store.sessions.create(id, caller.principal.userId, world.settings.agent);
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
      refusing(async () => {
        learn(id, await mine(id, caller));
        const page = await readPage(directory, world, id, before);
        directory.forget(id);
        return { session_id: id, ...page };
      }),

    erase: (id, caller) =>
      refusing(() =>
        directory.inOrder(id, async () => {
          await mine(id, caller);
          const resident = directory.resident(id);
          if (resident) directory.drop(resident);
          else directory.audience(id).dismiss(1000, "the session was erased");
          await store.sessions.erase(id, caller.principal.userId);
          directory.forget(id);
        }),
      ),

    check: (id, caller) =>
      refusing(async () => {
        await mine(id, caller);
      }),

    attach: (id, first, after, sink) =>
      refusing(async (): Promise<Attachment> => {
        let caller = first;
        // In order with the commands: numbers of a sleeping session are read while nothing wakes it.
        const joined = await directory.inOrder(id, async () => {
          learn(id, await mine(id, caller));
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
        await refreshGrants(id, caller);
        return {
          deliver: (command) =>
            directory.inOrder(id, async () => {
              try {
                return await handle(directory, world, id, caller, command);
              } catch (error) {
                const { code, message } = refusalOf(error);
                return directory.audience(id).plain("error", { id: command.id, code, message });
              }
            }),
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
  async function refreshGrants(id: SessionId, caller: Caller): Promise<void> {
    const resident = directory.resident(id);
    if (resident === undefined) return;
    for (const turn of resident.rows.keys()) resident.callers.set(turn, caller);
    if (!world.settings.grants) return;
    const expiresAt = caller.principal.expiresAt ?? world.clock.now() + world.settings.grantMs;
    await store.grants.refresh(id, caller.principal.userId, { ...caller, expiresAt });
  }
}
