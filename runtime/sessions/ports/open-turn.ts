import { progressOf } from "../../../machines/turn/progress.ts";
import type { TurnPorts } from "../../../machines/turn/turn.machine.ts";
import { LiveTurn } from "../live-turn.ts";
import type { Resident, Row, Run } from "../resident.ts";
import { NO_CAPABILITIES, type World } from "../world.ts";
import { AuthRequired } from "./login-ended.ts";
import { askedBy, inputOf, type Opening, openingOf } from "./opening.ts";
import { storeAccepted } from "./store-accepted.ts";

/** Take-overs after which a turn is given up: it may be what kills its owners. */
const MOST_TAKEOVERS = 3;

/** Opens a fresh turn, or reads how far an owner before came with it. */
export function openTurn(resident: Resident, world: World): TurnPorts["openTurn"] {
  return async ({ turnId }, signal) => {
    await resident.lease.hold(signal);
    signal.throwIfAborted();
    const row = resident.rows.get(turnId);
    if (row === undefined) throw new TypeError("a turn without an inbox row can't be opened");
    const begun = resident.entriesOf(turnId);
    const isFresh = begun.length === 0;
    const asked = row.kind === "resolve" ? await askedBy(resident, world, row.body) : undefined;
    signal.throwIfAborted();
    const cause = row.kind === "resolve" ? "resolution" : "message";
    const live = new LiveTurn(
      { turnId, n: resident.numberOf(row), cause: isFresh ? cause : "recovery", input: inputOf(row, asked) },
      resident.audience,
      { uuid: world.chance.uuid, soon: world.clock.soon, over: resident.over.signal },
    );
    live.restore(begun);
    const run = beginRun(resident, world, live, isFresh);
    resident.run = run;
    world.observe({ type: "turn.started", sessionId: resident.id, turnId, cause: live.cause });
    showOpening(resident, live, isFresh);
    const login = await equip(resident, world, run);
    // A fresh turn gets its entries whatever fails here: its settlement must find them in the history.
    const opening = isFresh ? await openingOf(resident, world, row, run, asked, signal) : undefined;
    signal.throwIfAborted();
    if (opening) append(resident, world, row, run, opening);
    const cancelled = row.state === "cancelled";
    const fault = login.fault ?? opening?.fault;
    const exhausted = row.state === "running" && fault === undefined && (await isExhausted(resident, world, row));
    const hindered = cancelled || exhausted || fault !== undefined || !login.isFound;
    if (row.kind === "resolve" && !hindered) await storeAccepted(resident, world, run, row, { asked, isFresh }, signal);
    if (cancelled) return { ...progressOf(turnId, resident.entries), cancelled };
    if (fault) throw fault.error;
    const progress = progressOf(turnId, resident.entriesOf(turnId));
    if (!login.isFound && !exhausted && !progress.answered) throw new AuthRequired();
    return { ...progress, exhausted, room: resident.room(world, run) };
  };
}

async function isExhausted(resident: Resident, world: World, { turnId }: Row): Promise<boolean> {
  return (await world.store.inbox.countTakeover(resident.fence, turnId)) > MOST_TAKEOVERS;
}

function beginRun(resident: Resident, world: World, live: LiveTurn, isFresh: boolean): Run {
  return {
    turnId: live.turnId,
    live,
    // By name only, until the login is found: enough to settle the turn, not to call anything.
    caller: { principal: { userId: resident.owner, name: "", flags: [], preferences: {} }, credential: { cookie: "" } },
    capabilities: NO_CAPABILITIES,
    startedAt: world.clock.monotonic(),
    tools: new Set(),
    skills: new Set(),
    profile: undefined,
    portsMs: 0,
    made: new Set(),
    usage: { input: 0, output: 0, thinking: 0, cached: 0 },
    mayHaveStored: !isFresh,
  };
}

type Login = { readonly isFound: boolean; readonly fault?: { readonly error: unknown } };

/** Finds the turn's login and what it can do now. */
async function equip(resident: Resident, world: World, run: Run): Promise<Login> {
  const { turnId } = run;
  try {
    const caller = resident.callers.get(turnId) ?? (await world.store.grants.find(resident.id, turnId));
    if (caller === undefined) return { isFound: false };
    run.caller = caller;
    run.capabilities = await world.capabilities(caller);
    return { isFound: true };
  } catch (error) {
    return { isFound: false, fault: { error } };
  }
}

function showOpening(resident: Resident, live: LiveTurn, isFresh: boolean): void {
  const { audience } = resident;
  audience.status = "turning";
  audience.pending = null;
  resident.tellResync(isFresh ? [] : [live.snapshot()]);
  if (isFresh) {
    const { turnId, n, cause, input } = live;
    audience.show("turn_started", { turn_id: turnId, n, cause, input }, turnId);
  }
  audience.show("queue_changed", { waiting: [...resident.queue] });
  audience.showState("turning", null);
}

function append(resident: Resident, world: World, row: Row, run: Run, { entries, recorded }: Opening): void {
  const { turnId } = run;
  const opens = resident.opening(row);
  resident.append(turnId, entries, { ...(opens && { opens }), recorded });
  const skills = entries.flatMap((entry) => (entry.kind === "user" ? (entry.skills ?? []) : []));
  for (const { name } of skills) {
    run.skills.add(name);
    resident.audience.show("skill_loaded", { name, eager: true }, turnId);
    world.observe({ type: "skill.loaded", sessionId: resident.id, turnId, skill: name, eager: true });
  }
}
