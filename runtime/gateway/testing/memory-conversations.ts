import { randomUUID } from "node:crypto";
import { blobId, type SessionId, sessionId } from "../../../machines/ids.ts";
import type { Command, MessageCommand } from "../../../machines/protocol/commands.ts";
import type { Limits, PlainKind, PlainSignal, SignalData } from "../../../machines/protocol/signals.ts";
import { type Attachment, type Caller, type Conversations, Refused, type Sink } from "../../sessions/conversations.ts";

type SessionCommand = Exclude<Command, { type: "ping" }>;
type Room = { readonly owner: string; readonly sinks: Set<Sink> };

export type MemoryConversations = Conversations & {
  /** What was delivered, in order. */
  readonly delivered: { readonly session: SessionId; readonly id: string; readonly command: SessionCommand }[];
  readonly uploaded: { readonly session: SessionId; readonly mime: string; readonly bytes: Uint8Array }[];
  readonly refreshed: Caller[];
  readonly attachedAfter: (number | undefined)[];
  /** Clients attached now. */
  attached(): number;
  sinks(id: SessionId): readonly Sink[];
  /** What `deliver` waits for before it answers. */
  beforeReceipt: (text: string) => Promise<void>;
  beforeAttach: () => Promise<void>;
  /** What is stored: a client without a cursor is sent it as `resync`, or nothing when undefined. */
  stored: Pick<SignalData<"resync">, "turns" | "state"> | undefined;
  /** Answers a command instead of the usual receipt. */
  answer: (session: SessionId, command: SessionCommand) => PlainSignal | undefined;
};

const AT = "2026-01-01T00:00:00.000Z";

export const plain = <K extends PlainKind>(session: string, kind: K, data: SignalData<K>): PlainSignal =>
  ({ v: 1, kind, session_id: session, at: AT, data }) as unknown as PlainSignal;

/** Sessions without actors: rooms that know their owner and acknowledge every message. */
export function memoryConversations(limits: Limits): MemoryConversations {
  const rooms = new Map<SessionId, Room>();
  const own = (id: SessionId, caller: Caller): Room => {
    const room = rooms.get(id);
    if (room?.owner !== caller.principal.userId) throw new Refused("not_found", "no such session");
    return room;
  };
  const state = { status: "resting" as const, pending_interaction: null };
  const conversations: MemoryConversations = {
    delivered: [],
    uploaded: [],
    refreshed: [],
    attachedAfter: [],
    attached: () => [...rooms.values()].reduce((sum, room) => sum + room.sinks.size, 0),
    sinks: (id) => [...(rooms.get(id)?.sinks ?? [])],
    beforeReceipt: async () => {},
    beforeAttach: async () => {},
    stored: undefined,
    answer: () => undefined,

    async create(caller, wanted) {
      const id = wanted ?? sessionId(randomUUID());
      if (rooms.has(id)) own(id, caller);
      else rooms.set(id, { owner: caller.principal.userId, sinks: new Set() });
      return id;
    },
    async list(caller) {
      const mine = [...rooms].filter(([, room]) => room.owner === caller.principal.userId);
      return mine.map(([session_id]) => ({
        session_id,
        title: null,
        status: "resting",
        updated_at: AT,
        pending_interaction: false,
      }));
    },
    async page(id, caller, before) {
      own(id, caller);
      return {
        session_id: id,
        ...(conversations.stored ?? { turns: [], state: { ...state, queue: [] } }),
        seq: 0,
        ...(before && { before: before - 1 }),
      };
    },
    async erase(id, caller) {
      own(id, caller);
      rooms.delete(id);
    },
    async upload(session, caller, mime, bytes) {
      own(session, caller);
      conversations.uploaded.push({ session, mime, bytes });
      return blobId(randomUUID());
    },
    async check(id, caller) {
      own(id, caller);
    },
    async attach(id, caller, after, sink) {
      await conversations.beforeAttach();
      const room = own(id, caller);
      conversations.attachedAfter.push(after);
      room.sinks.add(sink);
      const opened = {
        session_id: id,
        thawed: false,
        status: state.status,
        next_seq: 1,
        agent: "assist",
        simulated: true,
      };
      sink.send(plain(id, "session_opened", { ...opened, limits }));
      const { stored } = conversations;
      if (after === undefined && stored) sink.send(plain(id, "resync", { from_turn: 1, seq: 0, ...stored }));
      return attachment(id, room, sink);
    },
  };
  return conversations;

  function attachment(id: SessionId, room: Room, sink: Sink): Attachment {
    return {
      async deliver(command) {
        conversations.delivered.push({ session: id, id: command.id, command });
        const own = conversations.answer(id, command);
        if (own !== undefined) return own;
        if (command.type === "cancel") return plain(id, "cancel_receipt", { id: command.id, cancelled: [] });
        await conversations.beforeReceipt((command as MessageCommand).text);
        return plain(id, "message_accepted", { id: command.id, turn_id: randomUUID(), queued: false });
      },
      refresh: (caller) => void conversations.refreshed.push(caller),
      detach: () => void room.sinks.delete(sink),
    };
  }
}
