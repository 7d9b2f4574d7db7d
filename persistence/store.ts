import type { SummaryDraft } from "../machines/compaction/summary.rules.ts";
import type { Attachment, InteractionEntry, PlacedEntry } from "../machines/conversation/entries.ts";
import type { ResolvedStatus } from "../machines/conversation/interactions.ts";
import { Failure } from "../machines/failure.ts";
import type { BlobId, CallId, CommandId, InteractionId, NodeId, SessionId, TurnId, UserId } from "../machines/ids.ts";
import type { Credential, Principal } from "../machines/principal.ts";
import type { ActionCommand, Resolution } from "../machines/protocol/commands.ts";
import type { PendingInteraction } from "../machines/protocol/interactions.ts";
import type { ActionDone, Turn, TurnOutcome } from "../machines/protocol/turns.ts";

/** The right to write one session: only the epoch decides, and the statement itself checks it under the row's lock. */
export type Fence = { readonly sessionId: SessionId; readonly node: NodeId; readonly epoch: number };

/** A persisted snapshot of the session chart, with what is needed to know whether this code can restore it. */
export type Frozen = { readonly machine: string; readonly version: number; readonly state: unknown };

/** How many signal numbers a take or an admission reserves beyond the next one. */
export const SEQ_RESERVE = 4096;

/** Where a session stands when a node takes it. */
export type Taken = {
  readonly fence: Fence;
  readonly owner: UserId;
  readonly agent: string;
  /**
   * Undefined: none was ever stored. `broken`: it is there and can't be opened. Older than the entries unless `clean`.
   * Opened each time it is read, and by a spread of this object: whoever has no need of it leaves it alone.
   */
  readonly frozen: Frozen | { readonly broken: string } | undefined;
  /** The first signal number that was never used; taking reserved `SEQ_RESERVE` more. */
  readonly nextSeq: number;
  /** The session went to sleep in order: nothing was streamed that is not stored. */
  readonly clean: boolean;
  readonly anchor: number;
  /** Turns opened so far. */
  readonly turns: number;
  /** Rows that wait or run, the one that was admitted in the same statement included. */
  readonly unsettled: number;
  /** The interaction that is open, due or not; none when the statement that took the session has closed it. */
  readonly openInteraction: InteractionId | undefined;
  /** There are actions that no turn has told the model of yet. */
  readonly unrecordedActions: boolean;
};

export type InboxState = "waiting" | "running" | "settled" | "withdrawn" | "cancelled";

/** A command that waits or runs, as it was admitted. `body` is the command as parsed (sealed at rest). */
export type InboxRow = {
  readonly commandId: CommandId;
  readonly ordinal: number;
  readonly kind: "message" | "resolve";
  readonly turnId: TurnId;
  readonly state: InboxState;
  /** How often another owner has taken this turn over. */
  readonly takeovers: number;
  readonly body: unknown;
};

/** The principal's short-lived sealed credential for one turn. */
export type Grant = { readonly principal: Principal; readonly credential: Credential };

export type AdmitInput = {
  readonly sessionId: SessionId;
  readonly owner: UserId;
  readonly node: NodeId;
  /** The epoch this node holds; undefined: it holds none and takes the lease if it is free. */
  readonly epoch: number | undefined;
  readonly leaseMs: number;
  readonly commandId: CommandId;
  readonly kind: "message" | "resolve";
  /** Digest of the content: same id with another digest is a conflict. */
  readonly digest: Buffer;
  readonly turnId: TurnId;
  readonly body: unknown;
  /** Undefined with `GRANTS=off`. */
  readonly grant: (Grant & { readonly expiresAt: number }) | undefined;
  /** Most waiting turns a session may hold besides the one that runs. */
  readonly queueBound: number;
  /** The owner's next signal number, 0 when it does not own the session; reserves `+ 4096`. */
  readonly nextSeq: number;
  /**
   * What the owner believes: a message has to close something. Only spares a statement: what is open is closed, whatever
   * this says.
   */
  readonly isSomethingOpen?: boolean;
  /** What a `resolve` closes: it is admitted only while that is open under this revision. A message closes whatever is open. */
  readonly resolves?: {
    readonly interactionId: InteractionId;
    readonly revision: number;
    readonly status: ResolvedStatus;
    readonly resolution: Resolution;
  };
};

export type Admission =
  | {
      readonly kind: "admitted";
      readonly ordinal: number;
      readonly taken: Taken | undefined;
      readonly reservedSeq: number;
    }
  | { readonly kind: "duplicate"; readonly turnId: TurnId; readonly state: InboxState; readonly answer: unknown }
  | { readonly kind: "conflict" }
  | { readonly kind: "queue_full" }
  | { readonly kind: "not_found" }
  /** Another node's lease lives, or ours was raised by another. */
  | { readonly kind: "elsewhere" }
  /** The interaction is not open under this revision (any more). */
  | { readonly kind: "not_open" };

export type CancelInput = {
  readonly fence: Fence;
  readonly commandId: CommandId;
  readonly digest: Buffer;
  /** A turn by id, or the one that runs now. */
  readonly target: TurnId | "running";
};
export type Cancellation =
  | { readonly kind: "cancelled"; readonly running: TurnId | undefined; readonly withdrawn: TurnId | undefined }
  | { readonly kind: "duplicate"; readonly cancelled: readonly TurnId[] }
  | { readonly kind: "conflict" };

/** Intent of a call that is not read-only, durable before it leaves (DESIGN §4.5). */
export type Intent = {
  readonly turnId: TurnId;
  readonly callId: CallId;
  readonly name: string;
  readonly repeatable: boolean;
  readonly key: string;
};
export type StoredIntent = Intent & { readonly state: "intended" | "finished" };

/** What one append makes durable together. Entries of one batch share a row; `pos` is the first one's. */
export type Batch = {
  readonly turnId: TurnId;
  readonly entries: readonly PlacedEntry[];
  /** A call without one was read-only when it was made; what its tool is by now decides how it is sent again. */
  readonly intents: readonly Intent[];
  /** Calls whose results are in; naming one without a stored intent does nothing. */
  readonly finished: readonly CallId[];
  /** The batch opens the turn: its inbox row becomes `running`, the session counts it, a missing title is set. */
  readonly opens?: { readonly n: number; readonly title: string };
  /** New bound of reserved signal numbers, when the owner nears the old one. */
  readonly reserveSeq?: number;
  /** The batch tells the model of these actions: they are not given by `Actions.unrecorded` again. */
  readonly recorded?: readonly CommandId[];
  /** The batch holds a summary: the anchor moves, if it is still where it was, and drafts for it are removed. */
  readonly anchor?: { readonly from: number; readonly to: number };
};

export type Settlement = Batch & {
  readonly outcome: TurnOutcome;
  /** The whole turn as clients see it. */
  readonly turn: Turn;
  /** Not trusted: the session is `awaiting` only where `asks` is open now. */
  readonly status: "resting" | "awaiting";
  readonly nextSeq: number;
  /**
   * What the turn asks, with status `awaiting`. Open from now on, unless another turn waits: then it is stored as
   * superseded. A higher revision continues the row of that id; one that is open, answered or accepted stays as it is.
   */
  readonly asks?: InteractionEntry;
};

export type InteractionStatus = "open" | ResolvedStatus | "superseded" | "expired";

export type InteractionRow = {
  readonly pending: PendingInteraction;
  /** The turn that asked. */
  readonly turnId: TurnId;
  /** As of now: an open one whose time is over reads as expired, before `expire` has closed it. */
  readonly status: InteractionStatus;
  /** Of one that a person has resolved. */
  readonly resolved?: { readonly commandId: CommandId; readonly turnId: TurnId; readonly resolution: Resolution };
};

/** What came of an action: what clients are shown of it, and what the model reads. */
export type ActionEnd = { readonly state: "done" | "failed"; readonly shown: ActionDone; readonly text: string };

/** A card's button that was pressed. */
export type ActionRow = {
  readonly command: ActionCommand;
  /** The turn that holds the card. */
  readonly turnId: TurnId;
  /** `intended`: its call may have left; nothing is known of it yet. */
  readonly state: "intended" | "done" | "failed";
  /** Once it has ended: what clients are shown of it, and what the model reads. */
  readonly end?: { readonly shown: ActionDone; readonly text: string };
};

/** One telemetry row of a model call; never shares the turn's statement. */
export type ModelCallRow = {
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  readonly step: number;
  readonly attempt: number;
  readonly profile: string;
  readonly issuer: string;
  readonly outcome: string;
  readonly usage: {
    readonly input: number;
    readonly output: number;
    readonly thinking: number;
    readonly cached: number;
  };
  readonly ms: number;
  readonly projector: number;
  /** `turn` when left out. */
  readonly purpose?: "turn" | "summary" | "subagent";
  /** The call of the parent that the sub-agent works for; only with purpose `subagent`. */
  readonly callId?: CallId;
};

export type SessionRow = {
  readonly sessionId: SessionId;
  readonly title: string | null;
  readonly status: "resting" | "turning" | "awaiting" | "hibernated";
  readonly updatedAt: Date;
  /** An interaction is open and not over. */
  readonly pendingInteraction: boolean;
  /** The first signal number that was never used; exact while nobody owns the session. */
  readonly nextSeq: number;
};

export interface Sessions {
  create(id: SessionId, owner: UserId, agent: string): Promise<void>;
  /** Newest first, without thawing any. */
  list(owner: UserId): Promise<readonly SessionRow[]>;
  /** Undefined for an unknown id and for another owner's: both answer alike. Also warms the session's cipher. */
  find(id: SessionId, owner: UserId): Promise<SessionRow | undefined>;
  /** Takes the session if nobody's lease lives (raises the epoch); undefined when somebody else owns it. */
  take(id: SessionId, node: NodeId, leaseMs: number): Promise<Taken | undefined>;
  /** Extends the leases of these fences in one statement; gives back the sessions that are still ours. */
  renew(fences: readonly Fence[], leaseMs: number): Promise<readonly SessionId[]>;
  /**
   * Stores the snapshot and frees the lease only if no row waits; throws `OwnershipLost` when the epoch was raised. What
   * is open decides the stored status, whatever `status` says.
   */
  sleep(fence: Fence, frozen: Frozen, nextSeq: number, status: "resting" | "awaiting"): Promise<"asleep" | "busy">;
  /** Frees the lease without a snapshot: the turn that runs is parked for the next owner. */
  release(fence: Fence): Promise<void>;
  /** Sessions with no live lease that have waiting or running rows, or an open interaction whose time is over. */
  orphans(limit: number): Promise<readonly SessionId[]>;
  /** Raises the epochs of everything that nodes other than `node` hold, and frees it. Returns how many. */
  raiseAll(node: NodeId): Promise<number>;
  /**
   * Removes rows, key and uploads; false for an unknown or foreign id. Uploaded bytes that can't be removed now are
   * removed by `Blobs.sweep`.
   */
  erase(id: SessionId, owner: UserId): Promise<boolean>;
}

export interface Inbox {
  /** One statement: fence or lease, queue bound, row, grant, signal numbers. */
  admit(input: AdmitInput): Promise<Admission>;
  /** Durable before its receipt. A running turn's row → `cancelled`, a waiting one → `withdrawn`. */
  cancel(input: CancelInput): Promise<Cancellation>;
  /** How a command of this id was answered before; undefined: it is new. */
  earlier(
    id: SessionId,
    commandId: CommandId,
    kind: "message" | "resolve",
    digest: Buffer,
  ): Promise<Extract<Admission, { kind: "duplicate" | "conflict" }> | undefined>;
  /** Rows that wait or run (`cancelled` but unsettled included), by ordinal. */
  open(id: SessionId): Promise<readonly InboxRow[]>;
  /** Counts one more take-over of this turn; gives the new count. */
  countTakeover(fence: Fence, turnId: TurnId): Promise<number>;
}

/** Whether what the turn asks is open; false also where it asks nothing. A repeated settle tells what is open by then. */
export type Settled = { readonly isOpen: boolean };

export interface Interactions {
  /** Undefined for one that this session never had. */
  find(id: SessionId, interactionId: InteractionId): Promise<InteractionRow | undefined>;
  /** The open one, due or not. */
  open(id: SessionId): Promise<PendingInteraction | undefined>;
  /** Closes it if it is open and its time is over; false when it is not. Throws `OwnershipLost`. */
  expire(fence: Fence, interactionId: InteractionId): Promise<boolean>;
}

export type Intended =
  | { readonly kind: "intended" }
  /** This command again, or another one for the same item of the same card that is under way. */
  | { readonly kind: "known"; readonly isSameCommand: boolean; readonly row: ActionRow }
  /** The id was used for another command. */
  | { readonly kind: "conflict" };

export interface Actions {
  /** Durable before its call leaves. Fenced; throws `OwnershipLost`. Unique by command, and by card, item and plan while under way. */
  intend(fence: Fence, action: { command: ActionCommand; digest: Buffer; turnId: TurnId }): Promise<Intended>;
  /** Fenced; throws `OwnershipLost`. Nothing is changed of one that has ended or was never intended. */
  finish(
    fence: Fence,
    commandId: CommandId,
    end: NonNullable<ActionRow["end"]> & { state: "done" | "failed" },
  ): Promise<void>;
  /** Actions that no turn has told the model of, oldest first. */
  unrecorded(id: SessionId): Promise<readonly ActionRow[]>;
  /** What was done with the cards of these turns, oldest first. */
  shown(id: SessionId, turnIds: readonly TurnId[]): Promise<readonly (ActionDone & { readonly turnId: TurnId })[]>;
}

export interface Histories {
  /** Entries from `anchor` on, in order. */
  load(id: SessionId, anchor: number): Promise<readonly PlacedEntry[]>;
  /** One fenced statement; throws `OwnershipLost` and writes nothing when the epoch was raised. */
  append(fence: Fence, batch: Batch): Promise<void>;
  /** One fenced statement: entries, blocks, inbox row, grant, counters. Throws `OwnershipLost` likewise. */
  settle(fence: Fence, settlement: Settlement): Promise<Settled>;
  /** In order. None of those that earlier releases kept of read-only calls. */
  intents(id: SessionId, turnId: TurnId): Promise<readonly StoredIntent[]>;
}

export interface Turns {
  /** The newest `limit` settled turns with `n < before`, oldest first. */
  page(id: SessionId, limit: number, before?: number): Promise<readonly Turn[]>;
}

export interface Grants {
  find(id: SessionId, turnId: TurnId): Promise<Grant | undefined>;
  /** A reconnect of the same user refreshes the grants of that session's unsettled turns. */
  refresh(id: SessionId, owner: UserId, grant: Grant & { readonly expiresAt: number }): Promise<void>;
  /** Removes expired grants; returns how many. */
  sweep(): Promise<number>;
  /** The login ended: nothing of that user on this session may act with it any more. */
  revoke(id: SessionId): Promise<void>;
}

export interface Nodes {
  /** Says that this node lives. */
  beat(node: NodeId): Promise<void>;
  /** Other nodes heard within the last `withinMs`. */
  others(node: NodeId, withinMs: number): Promise<readonly NodeId[]>;
  /** Removes this node and every row that has been silent for a day. */
  leave(node: NodeId): Promise<void>;
}

export interface Calls {
  /** Adds rows; one that the table refuses is skipped and reported to `onBad`, the others are stored. */
  record(rows: readonly ModelCallRow[]): Promise<void>;
}

/** Uploaded files. Their bytes are sealed here and kept in a blob store; the table knows what there is. */
export interface Blobs {
  /** Keeps a file. `full`: the session holds as many bytes as it may. Throws `BlobsUnavailable` when nothing was kept. */
  add(
    id: SessionId,
    file: Attachment & { readonly tokens: number },
    content: Uint8Array,
  ): Promise<"added" | "full" | "not_found">;
  /** The uploads of this session among `blobIds`, marked as used by a message: from now on they stay as long as it does. */
  attach(id: SessionId, blobIds: readonly BlobId[]): Promise<readonly Attachment[]>;
  /** What was uploaded; undefined when it is gone or can't be trusted. Throws `BlobsUnavailable`. */
  read(id: SessionId, blobId: BlobId): Promise<Uint8Array | undefined>;
  /** Removes uploads that no message took up and bytes whose rows are gone. Returns how many bytes' keys it removed. */
  sweep(): Promise<number>;
}

export type { SummaryDraft };

export interface Summaries {
  /**
   * Keeps a draft; false when there is one for this anchor, the anchor has moved, or the session is gone. Needs no lease:
   * it changes no history.
   */
  keep(id: SessionId, draft: SummaryDraft): Promise<boolean>;
  find(id: SessionId, anchor: number): Promise<SummaryDraft | undefined>;
}

/** For those who make summaries for other processes. */
export interface WantedSummaries extends Summaries {
  /** The anchor still stands here and there is no draft for it. */
  isWanted(id: SessionId, anchor: number): Promise<boolean>;
}

/** A sub-agent is the call of its parent that asked for it. */
export type SubagentKey = { readonly sessionId: SessionId; readonly turnId: TurnId; readonly callId: CallId };
export type SubagentKind = "research" | "plan_builder";

/** How often a sub-agent may be begun: once, and once more after its worker died. */
export const SUBAGENT_ATTEMPTS = 2;

export type SubagentEnd =
  | { readonly state: "finished"; readonly result: unknown }
  | { readonly state: "failed" | "cancelled"; readonly code: string };

/** One sub-agent. `deadline` is milliseconds since 1970; `attempt` is 0 until a worker has claimed it. */
export type SubagentRow = SubagentKey & {
  readonly kind: SubagentKind;
  readonly attempt: number;
  readonly deadline: number;
  /** What it was asked (sealed at rest). */
  readonly request: unknown;
} & ({ readonly state: "waiting" | "running" } | SubagentEnd);

/** Where it stands, without anything that has to be opened. */
export type SubagentStanding = { readonly state: SubagentRow["state"]; readonly attempt: number };

export type SubagentClaim =
  | { readonly kind: "claimed"; readonly row: SubagentRow }
  /** It has ended, its time is over, it was begun as often as it may be, or there is none. */
  | { readonly kind: "refused"; readonly code: "ended" | "late" | "attempts_exhausted" | "unknown" };

/** What a worker makes of its attempt. `bundle` is stored with it or not at all. */
export type SubagentOutcome =
  | {
      readonly state: "finished";
      readonly result: unknown;
      readonly bundle?: { readonly bundleId: string; readonly body: unknown };
    }
  | { readonly state: "failed"; readonly code: string };

/** Expensive work in a context of its own. Whoever works on it holds no lease: state and attempt decide what counts. */
export interface Subagents {
  /** The row as it is now: the one that was there, else a new one that waits. Fenced; throws `OwnershipLost`. */
  begin(
    fence: Fence,
    input: Omit<SubagentKey, "sessionId"> & {
      readonly kind: SubagentKind;
      readonly request: unknown;
      readonly deadline: number;
    },
  ): Promise<{ readonly isNew: boolean; readonly row: SubagentRow }>;
  load(key: SubagentKey): Promise<SubagentRow | undefined>;
  standing(key: SubagentKey): Promise<SubagentStanding | undefined>;
  /** Begins the next attempt, also where another worker is still at the one before: its result does not count any more. */
  claim(key: SubagentKey): Promise<SubagentClaim>;
  /**
   * True when the visible end is the one of this attempt. It becomes that only while it runs, in this attempt, before its
   * deadline; the same again is true again.
   */
  finish(key: SubagentKey, attempt: number, outcome: SubagentOutcome): Promise<boolean>;
  /** The parent waits no longer. True when it had not ended. */
  cancel(key: SubagentKey, code: string): Promise<boolean>;
}

/** What a research agent found, whole: the parent's history only has its id. */
export interface Bundles {
  find(id: SessionId, bundleId: string): Promise<unknown>;
}

/** Tool results that were too long for the history, whole. */
export interface Results {
  /** Throws `OwnershipLost` when the epoch was raised. */
  keep(fence: Fence, result: { turnId: TurnId; callId: CallId; text: string }): Promise<void>;
  read(id: SessionId, callId: string): Promise<string | undefined>;
}

/** Everything that remembers. Made by `openStore` (persistence/postgres.ts). */
export type Store = {
  readonly sessions: Sessions;
  readonly inbox: Inbox;
  readonly histories: Histories;
  readonly turns: Turns;
  readonly interactions: Interactions;
  readonly actions: Actions;
  readonly grants: Grants;
  readonly nodes: Nodes;
  readonly calls: Calls;
  readonly summaries: WantedSummaries;
  readonly subagents: Subagents;
  readonly bundles: Bundles;
  readonly results: Results;
  readonly blobs: Blobs;
};

/** Another node raised the epoch: drop the actor, write nothing. */
export class OwnershipLost extends Failure {
  readonly code = "ownership_lost";
  readonly retryable = false;
  constructor(id: SessionId) {
    super(`session ${id} is owned by another node now`);
  }
}

/** The database did not answer or refused for a passing reason; nothing is known to be stored. */
export class StoreUnavailable extends Failure {
  readonly code = "unavailable";
  readonly retryable = true;
  constructor(cause: unknown) {
    super("the database can't be reached; it is tried again", { cause });
  }
}

/** What is stored of this session can't be opened: a tag failed, a key is missing, bytes are cut. */
export class SessionBroken extends Failure {
  readonly code = "session_unavailable";
  readonly retryable = false;
  constructor(id: SessionId, cause: unknown) {
    super(`session ${id}: stored data can't be opened`, { cause });
  }
}
