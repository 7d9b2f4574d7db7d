/** How full the context is, in corrected tokens. */
export type Room = {
  /** The request as it would be sent now. */
  readonly used: number;
  /** What the answer may take. */
  readonly reserve: number;
  readonly window: number;
  /** Turns that a summary may replace. */
  readonly foldable: number;
  /** A summary of them lies ready: taking it costs no call. */
  readonly drafted?: boolean;
};

/**
 * Kept after a compaction that did not bring the context under the threshold, so that it can't loop: the next one
 * waits until the older history has grown and some turns have passed.
 */
export type BackOff = {
  /** Foldable tokens at that time. */
  readonly foldable: number;
  /** Turns still to wait. */
  readonly rest: number;
};

/** The useful window is the quality budget, not the figure on the spec sheet. */
const THRESHOLD_SHARE = 0.8;
const DRAFT_SHARE = 0.6;
/** Less than this of the window is not worth a call. */
const LEAST_SHARE = 0.02;
/** What the older history has to grow by, as a share of the window, and how many turns pass, after a vain attempt. */
export const GROWTH_SHARE = 0.1;
export const REST_TURNS = 4;

export const threshold = (window: number): number => Math.floor(window * THRESHOLD_SHARE);
const sizeOf = ({ used, reserve }: Room): number => used + reserve;

export const isOverThreshold = (room: Room): boolean => sizeOf(room) > threshold(room.window);
/** The provider would refuse the request, or cut the answer. */
export const isOverWindow = (room: Room): boolean => sizeOf(room) > room.window;
export const isWorthFolding = (room: Room): boolean => room.foldable >= room.window * LEAST_SHARE;

/** Whether the summariser may be asked again after what happened before. */
export function mayAskAgain(room: Room, backOff: BackOff | null): boolean {
  if (backOff === null) return true;
  return backOff.rest === 0 && room.foldable >= backOff.foldable + room.window * GROWTH_SHARE;
}

export type CompactionContext = {
  readonly room: Room;
  /** The summariser was not asked in this turn, and the back-off is over. */
  readonly mayAsk: boolean;
  /** When summarising is given up, in milliseconds of the wall clock. */
  readonly deadline: number;
  readonly asked: boolean;
  readonly verdict: Verdict | null;
  /** What was stored: a summary, or that turns were left out. */
  readonly applied: "summary" | "draft" | "cut" | null;
  readonly cutTried: boolean;
  /** Why there is no summary. */
  readonly reason: string | null;
};

/** What came of summarising. Texts stay outside: the chart sees whether there is one. */
export type Verdict =
  | { readonly kind: "accepted"; readonly passes: number }
  | { readonly kind: "refused"; readonly reason: string }
  /** Not in time. It may still come, and serve the next time. */
  | { readonly kind: "late" };

export type Selected = { readonly kind: "draft" | "fold" | "nothing" };
export type Compacted = {
  readonly outcome: "applied" | "skipped" | "failed";
  readonly by?: "summary" | "draft" | "cut";
  readonly reason?: string;
  /** The summariser was asked. */
  readonly asked: boolean;
  readonly room: Room;
};

export const reasonOf = (verdict: Verdict | null): string | null => {
  if (verdict === null || verdict.kind === "accepted") return null;
  return verdict.kind === "late" ? "deadline" : verdict.reason;
};

/** Something was stored, or there is a reason why not, or there was nothing to do. */
export function outcomeOf({ applied, reason }: CompactionContext): Compacted["outcome"] {
  if (applied !== null) return "applied";
  return reason === null ? "skipped" : "failed";
}

export function outputOf(compaction: CompactionContext): Compacted {
  const { applied, reason, asked, room } = compaction;
  return {
    outcome: outcomeOf(compaction),
    ...(applied !== null && { by: applied }),
    ...(reason !== null && { reason }),
    asked,
    room,
  };
}

/** Back-off for the turns to come: none once there is room again. */
export function backOffAfter({ room, asked }: Compacted, before: BackOff | null): BackOff | null {
  if (!isOverThreshold(room)) return null;
  const rest = asked ? REST_TURNS : (before?.rest ?? 0);
  return { foldable: room.foldable, rest };
}

/** Whether a turn that has ended leaves so little room that the next summary should be made ahead of time. */
export function isWorthDrafting(room: Room): boolean {
  return sizeOf(room) > room.window * DRAFT_SHARE && isWorthFolding(room);
}
