import type { Sql } from "postgres";
import { Failure } from "../../../machines/failure.ts";
import { type SessionId, sessionId, type TurnId, turnId } from "../../../machines/ids.ts";
import type { Turn } from "../../../machines/protocol/turns.ts";
import type { Store } from "../../../persistence/store.ts";
import type { Conversations } from "../conversations.ts";
import { takeOverFromPredecessors } from "../predecessors.ts";
import { LIMITS, node, rivera } from "../testing/scene.ts";
import { startUpkeep } from "../upkeep.ts";
import { Gate } from "./gate.ts";
import { heldStore } from "./held-store.ts";
import { Oracle, type Stored } from "./oracle.ts";
import { Random } from "./random.ts";
import { randomModel } from "./random-model.ts";
import { type StepClock, Time } from "./step-clock.ts";
import { Tab } from "./tab.ts";
import { type Effect, tools } from "./tools.ts";

type Database = { readonly sql: Sql; readonly store: Store };
type Scene = ReturnType<typeof node>;
type Node = Scene & { readonly name: string; readonly clock: StepClock; state: Life; stop(): Promise<void> };
type Life = "starts" | "lives" | "drains" | "frozen" | "woken" | "gone";

/** Steps that a life is given to come to rest, once nothing new is asked of it. */
const REST_STEPS = 4_000;

/** A whole world on a real database: nodes that come and go, tabs, a model and tools, all moved by one seed. */
export class SimulatedWorld {
  readonly trace: string[] = [];
  readonly #db: Database;
  readonly #random: Random;
  readonly #time = new Time();
  readonly #gate: Gate;
  readonly #oracle = new Oracle();
  readonly #nodes: Node[] = [];
  readonly #tabs: Tab[] = [];
  readonly #session: SessionId;
  readonly #said: string[] = [];
  readonly #faulty: boolean;

  private constructor(db: Database, seed: number) {
    this.#db = db;
    this.#random = new Random(seed);
    this.#gate = new Gate(this.#random);
    this.#session = sessionId(this.#random.uuid());
    this.#faulty = this.#random.happens(0.4);
    for (const name of ["left", "right"]) this.#tabs.push(new Tab(name, this.#session, rivera, this.#oracle));
  }

  static async begin(db: Database, seed: number): Promise<SimulatedWorld> {
    const world = new SimulatedWorld(db, seed);
    await db.store.sessions.create(world.#session, rivera.principal.userId, "test");
    world.#nodeStarts();
    return world;
  }

  get problems(): readonly string[] {
    return this.#oracle.problems;
  }

  /** One random step, then the checks that hold at every moment. */
  async step(): Promise<void> {
    await this.#does(this.#random.weighted(this.#steps()));
    if (this.#random.happens(0.1)) this.#oracle.history(this.#session, await this.#entries(), false);
  }

  /** Nothing new is asked: everything must come to rest by itself. Then the checks that hold at the end. */
  async rest(): Promise<readonly string[]> {
    this.#gate.faults = 0;
    for (const one of this.#nodes) if (one.state === "frozen") this.#wakes(one);
    for (let step = 0; step < REST_STEPS && !(await this.#isAtRest()); step += 1) {
      this.#gate.release();
      if (this.#current === undefined) this.#nodeStarts();
      for (const tab of this.#tabs) if (!tab.isConnected) this.#connects(tab);
      await this.#does(this.#gate.isEmpty ? "a while passes" : "something happens");
    }
    if (!(await this.#isAtRest())) this.#oracle.broken(`does not come to rest: ${this.#gate.waiting.join(", ")}`);
    const stored = await this.#stored();
    this.#oracle.settled(this.#session, stored, new Map(this.#tabs.map((tab) => [tab.name, tab.view])));
    for (const tab of this.#tabs) {
      if (tab.unanswered.size > 0) this.#oracle.broken(`${tab.name} waits for ${tab.unanswered.size} answers`);
      tab.disconnect();
    }
    await quiet();
    for (const one of this.#nodes) {
      if (one.state === "gone") continue;
      if (!one.directory.isEmpty) this.#oracle.broken(`${one.name} keeps something of a session that sleeps`);
      for (const fault of one.faults.filter(isCrash)) this.#oracle.broken(`an actor crashed: ${String(fault.error)}`);
    }
    return this.problems;
  }

  /** Ends every process and removes what was stored. */
  async end(): Promise<void> {
    for (const one of this.#nodes) this.#gone(one);
    await this.#db.store.sessions.erase(this.#session, rivera.principal.userId);
  }

  #steps(): readonly (readonly [number, string])[] {
    return [
      [this.#gate.isEmpty ? 0 : 60, "something happens"],
      [6, "a moment passes"],
      [1.5, "a while passes"],
      [2, "a tab connects"],
      [1, "a tab leaves"],
      [5, "a tab speaks"],
      [1, "a tab repeats itself"],
      [2.5, "a tab cancels"],
      [0.6, "a page is read"],
      [0.3, "a node dies"],
      [0.3, "an actor crashes"],
      [0.25, "a node freezes"],
      [0.4, "a node wakes"],
      [0.25, "a node drains"],
      [1, "a node starts"],
      [this.#faulty ? 0.5 : 0, "the database falters"],
    ];
  }

  async #does(what: string): Promise<void> {
    this.trace.push((await this.#do(what)) ?? what);
    await quiet();
  }

  async #do(what: string): Promise<string | undefined> {
    const tab = this.#random.one(this.#tabs);
    const current = this.#current;
    switch (what) {
      case "something happens":
        return await this.#gate.step();
      case "a moment passes":
        return await this.#passes(Math.max(0, (this.#time.next ?? this.#time.passed) - this.#time.passed));
      case "a while passes":
        return await this.#passes(1_000 + this.#random.below(6_000));
      case "a tab connects":
        if (!tab.isConnected) this.#connects(tab);
        return;
      case "a tab leaves":
        tab.disconnect();
        return;
      case "a tab speaks":
        if (!tab.isReady) return "nobody can speak";
        return this.#speaks(tab, this.#random.uuid());
      case "a tab repeats itself":
        if (!tab.isReady || this.#said.length === 0) return "nobody can repeat";
        return this.#speaks(tab, this.#random.one(this.#said));
      case "a tab cancels":
        if (tab.isReady) return await this.#cancels(tab);
        return;
      case "a page is read":
        current?.conversations.page(this.#session, rivera).catch(() => undefined);
        return;
      case "a node dies":
        if (current) this.#dies(current);
        return;
      case "an actor crashes":
        this.#crashes(current);
        return;
      case "a node freezes":
        if (current) this.#freezes(current);
        return;
      case "a node wakes":
        for (const one of this.#nodes) if (one.state === "frozen") this.#wakes(one);
        return;
      case "a node drains":
        if (current?.state === "lives") this.#drains(current);
        return;
      case "a node starts":
        if (current === undefined) this.#nodeStarts();
        return;
      case "the database falters":
        this.#gate.faults = this.#gate.faults > 0 ? 0 : this.#random.one([0.1, 0.3, 1]);
        return `${what}: ${this.#gate.faults}`;
      default:
        throw new TypeError(`no such step: ${what}`);
    }
  }

  /** The node that the tabs reach. */
  get #current(): Node | undefined {
    return this.#nodes.find(({ state }) => state === "starts" || state === "lives" || state === "drains");
  }

  #connects(tab: Tab): void {
    if (this.#current?.state === "lives") tab.connect(this.#current.conversations as Conversations);
  }

  #speaks(tab: Tab, id: string): string {
    const at = this.#said.indexOf(id);
    if (at === -1) this.#said.push(id);
    tab.send({ type: "message", id, text: `message ${at === -1 ? this.#said.length : at + 1}` });
    return `${tab.name} says message ${at === -1 ? this.#said.length : at + 1}`;
  }

  async #cancels(tab: Tab): Promise<string> {
    const rows = await this.#db.sql<{ turn: string; state: string }[]>`
      select turn_id as turn, state from inbox where session_id = ${this.#session} and turn_id is not null
      order by ordinal desc limit 3`;
    const named = this.#random.happens(0.5)
      ? this.#random.one([...rows.map((row) => row.turn), this.#random.uuid()])
      : undefined;
    tab.send({ type: "cancel", id: this.#random.uuid(), ...(named !== undefined && { turn_id: turnId(named) }) });
    return `${tab.name} cancels ${named ?? "what runs"}`;
  }

  /** Leases run on the database's clock, so it is moved as well. */
  async #passes(ms: number): Promise<string> {
    if (ms > 0) {
      await this.#db.sql`
        update sessions set until = until - ${ms}::float8 * interval '1 millisecond' where id = ${this.#session}`;
    }
    this.#time.advance(ms);
    return `${ms} ms pass`;
  }

  #nodeStarts(): void {
    const name = `node ${this.#nodes.length + 1}`;
    const clock = this.#time.clock();
    const random = this.#random;
    const gate = this.#gate;
    const isLive = (asked: string) =>
      this.#nodes.some(
        (one) => one.name === asked && one.state !== "frozen" && one.state !== "woken" && one.state !== "gone",
      );
    const watch = {
      asked: (_: unknown, signal: AbortSignal) =>
        this.#oracle.asks({ node: name, session: this.#session, signal }, isLive),
    };
    const scene = node(heldStore(this.#db.store, gate, name), {
      model: randomModel(random, gate, name, watch),
      tools: tools(random, gate, name, (effect) => this.#happened(effect)),
      clock,
      chance: random,
      settings: { leaseMs: 30_000, hibernateAfterMs: random.one([0, 0, 500]), queueBound: LIMITS.queued_messages },
      opening: () => gate.hold(name, "capabilities", async () => {}),
    });
    const made: Node = { ...scene, name, clock, state: "starts", stop: async () => {} };
    this.#nodes.push(made);
    void takeOverFromPredecessors(scene.world, true, () => undefined, new AbortController().signal).then(
      () => {
        if (made.state !== "starts") return;
        made.state = "lives";
        made.stop = startUpkeep(
          scene.directory,
          scene.world,
          () => undefined,
          () => undefined,
        );
      },
      // The process ends with an error; another one is started.
      () => this.#gone(made),
    );
  }

  /** A bug in a chart: a transition throws. */
  #crashes(one: Node | undefined): void {
    const event = {
      type: "message.admitted" as const,
      get turnId(): TurnId {
        throw new Simulated("a transition that throws");
      },
    };
    one?.directory.resident(this.#session)?.actor?.send(event);
  }

  #dies(one: Node): void {
    for (const tab of this.#tabs) tab.cut();
    this.#gone(one);
  }

  #gone(one: Node): void {
    if (one.state === "gone") return;
    one.state = "gone";
    one.clock.state = "dead";
    this.#gate.cut(one.name);
    for (const resident of one.directory.residents) resident.actor?.stop();
  }

  #freezes(one: Node): void {
    if (one.state !== "lives") return;
    for (const tab of this.#tabs) tab.cut();
    one.state = "frozen";
    one.clock.state = "frozen";
    this.#gate.freeze(one.name);
  }

  /** It was thought dead: what it still writes must be refused. It is told to go at once. */
  #wakes(one: Node): void {
    one.state = "woken";
    one.clock.state = "runs";
    this.#gate.thaw(one.name);
    for (const tab of this.#tabs) tab.hangUp();
    one.directory.beginDrain();
  }

  #drains(one: Node): void {
    one.state = "drains";
    one.directory.beginDrain();
    const parks = this.#random.happens(0.5);
    void (parks ? one.directory.park() : one.directory.whenEmpty()).then(async () => {
      if (one.state !== "drains") return;
      for (const tab of this.#tabs) tab.cut();
      await one.stop();
      this.#gone(one);
    });
  }

  async #isAtRest(): Promise<boolean> {
    if (!this.#gate.isEmpty || this.#current?.state !== "lives") return false;
    if (this.#tabs.some((tab) => !tab.isReady || tab.unanswered.size > 0)) return false;
    if (this.#nodes.some((one) => one.state !== "gone" && one.directory.size > 0)) return false;
    const { unsettled, isHeld } = await this.#row();
    return unsettled === 0 && !isHeld;
  }

  /** What changes the world outside left its intent in the database before it left. */
  async #happened(effect: Effect): Promise<void> {
    this.#oracle.happened(effect);
    const intents = await this.#db.sql`select 1 from tool_calls where key = ${effect.key}`;
    if (intents.length === 0) this.#oracle.broken(`${effect.tool} was run before its intent was stored`);
  }

  async #entries() {
    return await this.#db.store.histories.load(this.#session, 0);
  }

  async #stored(): Promise<Stored> {
    const rows = await this.#db.sql<Stored["rows"][number][]>`
      select command_id as command, turn_id as turn, state from inbox where session_id = ${this.#session}`;
    const turns: readonly Turn[] = await this.#db.store.turns.page(this.#session, 1_000);
    return { ...(await this.#row()), rows: [...rows], turns, entries: await this.#entries() };
  }

  /** An owner whose lease ran out is none: what it left at rest is asleep. */
  async #row(): Promise<Row> {
    const [row] = await this.#db.sql<[Row]>`
      select case when status = 'resting' and until < now() then 'hibernated' else status end as status,
        coalesce(until >= now(), false) as "isHeld", coalesce(until < now(), false) as "hasLapsed", unsettled
      from sessions where id = ${this.#session}`;
    return row;
  }
}

type Row = Pick<Stored, "status" | "isHeld" | "hasLapsed"> & { readonly unsettled: number };

class Simulated extends Error {}

type Fault = { readonly event: string; readonly error: unknown };
const isCrash = (fault: unknown): fault is Fault => {
  const { event, error } = fault as Fault;
  return event === "session.crashed" && !(error instanceof Simulated) && !(error instanceof Failure);
};

/** Everything that can go on without the world outside has gone on. */
async function quiet(): Promise<void> {
  for (let turns = 0; turns < 3; turns += 1) await new Promise((resolve) => setImmediate(resolve));
}
