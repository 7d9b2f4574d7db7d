import type { Attachment, ContextSignals, UserEntry } from "../../../machines/conversation/entries.ts";
import { Failure } from "../../../machines/failure.ts";
import type { MessageCommand } from "../../../machines/protocol/commands.ts";
import { progressOf } from "../../../machines/turn/progress.ts";
import type { TurnPorts } from "../../../machines/turn/turn.machine.ts";
import type { Progress } from "../../../machines/turn/turn.rules.ts";
import { attachmentsOf } from "../attachments.ts";
import { LiveTurn } from "../live-turn.ts";
import type { Resident, Row, Run } from "../resident.ts";
import { NO_CAPABILITIES, type World } from "../world.ts";

/** Take-overs after which a turn is given up: it may be what kills its owners. */
const MOST_TAKEOVERS = 3;

/** The turn was taken over and its login is not stored (`GRANTS=off`), or the grant is over. */
export class AuthRequired extends Failure {
  readonly code = "auth_required";
  readonly retryable = true;
  constructor() {
    super("this turn has no login to act with any more; send the message again");
  }
}

/** Opens a fresh turn, or reads how far an owner before came with it. */
export function openTurn(resident: Resident, world: World): TurnPorts["openTurn"] {
  return async ({ turnId }, signal) => {
    await resident.lease.hold(signal);
    signal.throwIfAborted();
    const row = resident.rows.get(turnId);
    if (row === undefined) throw new TypeError("a turn without an inbox row can't be opened");
    const begun = resident.entriesOf(turnId);
    const isFresh = begun.length === 0;
    const live = new LiveTurn(
      {
        turnId,
        n: resident.numberOf(row),
        cause: isFresh ? "message" : "recovery",
        input: inputOf(row.body),
      },
      resident.audience,
      world.chance.uuid,
    );
    live.restore(begun);
    resident.audience.status = "turning";
    const run = beginRun(resident, world, live);
    resident.run = run;
    world.observe({ type: "turn.started", sessionId: resident.id, turnId, cause: live.cause });
    showOpening(resident, live, isFresh);
    // A fresh turn gets its user entry whatever fails here: its settlement must find it in the history.
    const equipped = await attempt(() => equip(resident, world, run));
    const context = isFresh && equipped.ok ? await attempt(() => contextOf(row.body, run, signal)) : undefined;
    const attached = isFresh ? await attempt(() => attachedTo(resident, world, row)) : NOTHING;
    signal.throwIfAborted();
    const said = { context: context?.ok ? context.value : undefined, attachments: attached.ok ? attached.value : [] };
    if (isFresh) appendUser(resident, world, row, run, said);
    if (row.state === "cancelled") return { ...progressOf(turnId, resident.entries), cancelled: true };
    if (!equipped.ok) throw equipped.error;
    if (!attached.ok) throw attached.error;
    if (row.state !== "waiting") {
      return { ...(await recovered(resident, world, row, equipped.value)), room: resident.room(world, run) };
    }
    if (!equipped.value) throw new AuthRequired();
    return { ...progressOf(turnId, []), room: resident.room(world, run) };
  };
}

type Attempt<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: unknown };

const NOTHING: Attempt<readonly Attachment[]> = { ok: true, value: [] };

function attachedTo(resident: Resident, world: World, { body }: Row): Promise<readonly Attachment[]> {
  return resident.patiently(() => attachmentsOf(world, resident.id, body));
}

async function attempt<T>(work: () => Promise<T>): Promise<Attempt<T>> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    return { ok: false, error };
  }
}

function beginRun(resident: Resident, world: World, live: LiveTurn): Run {
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
  };
}

/** Finds the turn's login and what it can do now. False: there is no login any more. */
async function equip(resident: Resident, world: World, run: Run): Promise<boolean> {
  const { turnId } = run;
  const caller = resident.callers.get(turnId) ?? (await world.store.grants.find(resident.id, turnId));
  if (caller === undefined) return false;
  run.caller = caller;
  run.capabilities = await world.capabilities(caller);
  return true;
}

function inputOf(body: MessageCommand) {
  return {
    text: body.text,
    ...(body.context && { context: body.context }),
    ...(body.attachments && { attachments: body.attachments }),
    ...(body.entry_point !== undefined && { entry_point: body.entry_point }),
  };
}

function showOpening(resident: Resident, live: LiveTurn, isFresh: boolean): void {
  const { audience } = resident;
  resident.tellResync(isFresh ? [] : [live.snapshot()]);
  if (isFresh) {
    const { turnId, n, cause, input } = live;
    audience.show("turn_started", { turn_id: turnId, n, cause, input }, turnId);
  }
  audience.show("queue_changed", { waiting: [...resident.queue] });
  audience.show("state_changed", { status: "turning", pending_interaction: null });
}

async function recovered(resident: Resident, world: World, row: Row, hasLogin: boolean): Promise<Progress> {
  const progress = progressOf(row.turnId, resident.entries);
  const takeovers = await world.store.inbox.countTakeover(resident.fence, row.turnId);
  const exhausted = takeovers > MOST_TAKEOVERS;
  if (!hasLogin && !exhausted && !progress.answered) throw new AuthRequired();
  return { ...progress, exhausted };
}

type Said = { readonly context: ContextSignals | undefined; readonly attachments: readonly Attachment[] };

function appendUser(resident: Resident, world: World, row: Row, run: Run, { context, attachments }: Said): void {
  const { body, turnId } = row;
  const skills = body.entry_point === undefined ? [] : run.capabilities.eager(body.entry_point);
  const entry: UserEntry = {
    kind: "user",
    turnId,
    text: body.text,
    ...(context && { context }),
    ...(body.entry_point !== undefined && { entryPoint: body.entry_point }),
    ...(skills.length > 0 && { skills }),
    ...(attachments.length > 0 && { attachments }),
  };
  const opens = resident.opening(row);
  resident.append(turnId, [entry], { ...(opens && { opens }) });
  for (const { name } of skills) {
    run.skills.add(name);
    resident.audience.show("skill_loaded", { name, eager: true }, turnId);
    world.observe({ type: "skill.loaded", sessionId: resident.id, turnId, skill: name, eager: true });
  }
}

async function contextOf(
  { context }: MessageCommand,
  run: Run,
  signal: AbortSignal,
): Promise<ContextSignals | undefined> {
  const { preferences } = run.caller.principal;
  const named = await run.capabilities.describe({ patientId: context?.patient_id, planId: context?.plan_id }, signal);
  const page = context?.page && {
    ...(context.page.url !== undefined && { url: context.page.url }),
    ...(context.page.title !== undefined && { title: context.page.title }),
  };
  const all: ContextSignals = {
    ...named,
    ...(page && { page }),
    ...(Object.keys(preferences).length > 0 && { preferences }),
  };
  return Object.keys(all).length > 0 ? all : undefined;
}
