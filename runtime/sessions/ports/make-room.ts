import type { CompactionPorts } from "../../../machines/compaction/compaction.machine.ts";
import { isWorthFolding, type Room, threshold, type Verdict } from "../../../machines/compaction/compaction.rules.ts";
import { type SummaryDraft, summaryCap } from "../../../machines/compaction/summary.rules.ts";
import { cutPoint, fitted } from "../../../machines/conversation/cut.ts";
import type { PlacedEntry, Shortening, SummaryEntry } from "../../../machines/conversation/entries.ts";
import { shortenedAt } from "../../../machines/conversation/sent.ts";
import { failureCode } from "../../../machines/failure.ts";
import type { TurnId } from "../../../machines/ids.ts";
import { digestOf, type SummaryWork } from "../../summaries/summarising.ts";
import type { Resident, Run } from "../resident.ts";
import type { World } from "../world.ts";

/** The ports of one compaction, for the turn that waits for it. `onBegin` hears when there is something to do. */
export function makeRoom(resident: Resident, world: World, run: Run, onBegin: () => void): CompactionPorts {
  const { drafts } = world;
  const { turnId } = run;
  const { ledger } = resident;
  let work: SummaryWork | undefined;
  let draft: SummaryDraft | undefined;

  const roomNow = (): Room => resident.room(world, run);

  return {
    async select({ mayAsk }) {
      draft = await storedDraft(resident, world, run);
      if (draft !== undefined && isUsable(draft, resident, turnId)) return { kind: "draft" };
      draft = undefined;
      if (drafts === undefined || !mayAsk || !isWorthFolding(roomNow())) return { kind: "nothing" };
      work = workOf(resident, world, turnId, turnId);
      return { kind: work === undefined ? "nothing" : "fold" };
    },

    async summarise({ deadline }, signal): Promise<Verdict> {
      onBegin();
      work ??= workOf(resident, world, turnId, turnId);
      if (drafts === undefined || work === undefined) return { kind: "refused", reason: "nothing_to_fold" };
      const began = world.clock.monotonic();
      const made = drafts.make(work).then(
        (one): SummaryDraft | Verdict => one,
        (error: unknown): Verdict => ({ kind: "refused", reason: failureCode(error) }),
      );
      const over = new AbortController();
      const time = world.clock.sleep(Math.max(0, deadline - world.clock.now()), over.signal).then(
        (): Verdict => ({ kind: "late" }),
        (): Verdict => ({ kind: "late" }),
      );
      const stop = () => over.abort();
      signal.addEventListener("abort", stop, { once: true });
      const end = await Promise.race([made, time]);
      over.abort();
      signal.removeEventListener("abort", stop);
      run.portsMs += world.clock.monotonic() - began;
      signal.throwIfAborted();
      if ("kind" in end) return end;
      draft = end;
      return isUsable(end, resident, turnId)
        ? { kind: "accepted", passes: end.passes }
        : { kind: "refused", reason: "history_changed" };
    },

    async apply(_, signal) {
      signal.throwIfAborted();
      if (draft === undefined || !isUsable(draft, resident, turnId)) throw new TypeError("no draft fits this history");
      onBegin();
      const before = lastSummary(ledger.history);
      const { from, to, text, digest, passes, profile, clipped } = draft;
      await replace(resident, {
        kind: "summary",
        turnId,
        text,
        from,
        to,
        digest,
        passes,
        profile,
        ...(before?.omitted !== undefined && { omitted: before.omitted }),
        ...(clipped.length > 0 && { clipped }),
        ...shortenings(carried(before, to)),
      });
      drafts?.forget(resident.id, from);
      return roomNow();
    },

    async cut(_, signal) {
      signal.throwIfAborted();
      const before = lastSummary(ledger.history);
      const own = ledger.history.find(({ entry }) => entry.turnId === turnId)?.pos ?? 0;
      const kept = carried(before, ledger.anchor).filter((rule) => rule.before <= own);
      const room = roomNow();
      const { tail } = ledger.parts(run.capabilities.fixed);
      const others = room.used + room.reserve - tail;
      const target = ledger.inEstimates(threshold(room.window) - others);
      const limit = ledger.inEstimates(room.window - others);
      const history = ledger.history.map((placed) => shortenedAt(placed, kept));
      const fit = fitted(history, turnId, { target, limit });
      if (fit === undefined || isSame(fit, before, ledger.anchor)) return null;
      onBegin();
      const from = ledger.anchor;
      const replaced = ledger.history.filter(({ pos }) => pos < fit.to);
      const omitted = (before?.omitted ?? 0) + fit.turns;
      const rules = [...kept.filter((rule) => rule.before > fit.to), ...(fit.shortened ? [fit.shortened] : [])];
      await replace(resident, {
        kind: "summary",
        turnId,
        text: before?.text ?? "",
        from,
        to: fit.to,
        digest: digestOf({ entries: replaced, earlier: before?.text ?? "" }),
        ...(omitted > 0 && { omitted }),
        ...shortenings(rules),
      });
      // What was only shortened leaves the anchor, and with it the draft, as they are.
      if (fit.to !== from) drafts?.forget(resident.id, from);
      return roomNow();
    },
  };
}

/** A draft that can't be read is none: another is made. */
async function storedDraft({ id, ledger }: Resident, world: World, { turnId }: Run): Promise<SummaryDraft | undefined> {
  try {
    return await world.drafts?.find(id, ledger.anchor);
  } catch (error) {
    world.observe({ type: "summary.failed", sessionId: id, turnId, code: failureCode(error) });
    return undefined;
  }
}

/** The part of a history that can be summed up now; `running` is the turn that must stay, if one runs. */
export function workOf(
  resident: Resident,
  world: World,
  turnId: TurnId,
  running: TurnId | undefined,
): SummaryWork | undefined {
  const { ledger } = resident;
  const to = cutPoint(ledger.history, running);
  if (to === undefined || world.drafts === undefined) return undefined;
  return {
    sessionId: resident.id,
    turnId,
    from: ledger.anchor,
    to,
    entries: ledger.history.filter(({ pos, entry }) => pos < to && entry.kind !== "summary"),
    earlier: lastSummary(ledger.history)?.text ?? "",
    cap: summaryCap(world.model.window, world.drafts.summariserWindow),
  };
}

/** The entry and the anchor in one statement; nothing of it is known outside before it is durable. */
async function replace(resident: Resident, summary: SummaryEntry): Promise<void> {
  resident.append(summary.turnId, [summary]);
  await resident.flush();
}

function isUsable(draft: SummaryDraft, { ledger }: Resident, running: TurnId): boolean {
  const latest = cutPoint(ledger.history, running);
  return draft.from === ledger.anchor && latest !== undefined && draft.to <= latest;
}

function lastSummary(history: readonly PlacedEntry[]): SummaryEntry | undefined {
  const last = history.findLast(({ entry }) => entry.kind === "summary")?.entry;
  return last?.kind === "summary" ? last : undefined;
}

/** Shortenings that still touch something behind `to`: without them a turn would grow back. */
const carried = (before: SummaryEntry | undefined, to: number): readonly Shortening[] =>
  (before?.shortened ?? []).filter((rule) => rule.before > to);

const shortenings = (rules: readonly Shortening[]) => (rules.length > 0 ? { shortened: rules } : {});

/** The same cut as the one that is in force: storing it again would change nothing. */
function isSame(
  fit: { readonly to: number; readonly shortened?: Shortening },
  before: SummaryEntry | undefined,
  anchor: number,
): boolean {
  if (fit.to !== anchor) return false;
  const inForce = before?.shortened?.some((rule) => JSON.stringify(rule) === JSON.stringify(fit.shortened));
  return fit.shortened === undefined || inForce === true;
}
