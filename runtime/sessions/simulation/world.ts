import { Failure } from "../../../machines/failure.ts";
import { type InteractionId, type SessionId, sessionId, type TurnId } from "../../../machines/ids.ts";
import type { Conversations } from "../conversations.ts";
import { takeOverFromPredecessors } from "../predecessors.ts";
import { LIMITS, node, rivera } from "../testing/scene.ts";
import { startUpkeep } from "../upkeep.ts";
import { ASKING_TOOLS, askingTools } from "./asking-tools.ts";
import { Gate } from "./gate.ts";
import { Hands } from "./hands.ts";
import { heldStore } from "./held-store.ts";
import { Oracle } from "./oracle.ts";
import { SimulatedPlatform } from "./platform.ts";
import { Random } from "./random.ts";
import { randomModel } from "./random-model.ts";
import { type StepClock, Time } from "./step-clock.ts";
import { type Database, sessionRow, storedOf } from "./stored.ts";
import { Tab } from "./tab.ts";
import { type Effect, TOOL_NAMES, tools } from "./tools.ts";

type Scene = ReturnType<typeof node>;
type Node = Scene & { readonly name: string; readonly clock: StepClock; state: Life; stop(): Promise<void> };
type Life = "starts" | "lives" | "drains" | "frozen" | "woken" | "gone";

/** Steps that a life is given to come to rest, once nothing new is asked of it. */
const REST_STEPS = 4_000;

/** The same seed lives two lives: with questions and without. */
const ASKING = 2 ** 31;
const LOOP_TURNS = 2 ** 30;

/** A whole world on a real database: nodes that come and go, tabs, a model and tools, all moved by one seed. */
export class SimulatedWorld {
  readonly trace: string[] = [];
  readonly #db: Database;
  readonly #random: Random;
  /** Of its own, so that the lives of old seeds stay as they were. */
  readonly #loopTurns: Random;
  readonly #time = new Time();
  readonly #gate: Gate;
  readonly #oracle = new Oracle();
  readonly #nodes: Node[] = [];
  readonly #tabs: Tab[] = [];
  readonly #session: SessionId;
  readonly #faulty: boolean;
  readonly #hands: Hands;
  /** Undefined in a life without questions and buttons. */
  readonly #platform: SimulatedPlatform | undefined;

  private constructor(db: Database, seed: number, asks: boolean) {
    this.#db = db;
    this.#random = new Random(asks ? seed + ASKING : seed);
    this.#loopTurns = new Random(seed + LOOP_TURNS);
    this.#gate = new Gate(this.#random);
    this.#session = sessionId(this.#random.uuid());
    this.#faulty = this.#random.happens(0.4);
    this.#hands = new Hands(this.#random);
    this.#platform = asks ? new SimulatedPlatform(this.#random.happens(0.6)) : undefined;
    for (const name of ["left", "right"]) this.#tabs.push(new Tab(name, this.#session, rivera, this.#oracle));
  }

  /** `asks`: with questions, proposals and buttons. */
  static async begin(db: Database, seed: number, asks: boolean): Promise<SimulatedWorld> {
    const world = new SimulatedWorld(db, seed, asks);
    await db.store.sessions.create(world.#session, rivera.principal.userId, "test");
    world.#nodeStarts();
    return world;
  }

  /** Milliseconds since 1970, as this world counts them. */
  get now(): number {
    return this.#time.now;
  }

  /** How often each answer was given, and each kind of signal was sent. */
  get seen(): ReadonlyMap<string, number> {
    return this.#oracle.seen;
  }

  get problems(): readonly string[] {
    return this.#oracle.problems;
  }

  /** One random step, then the checks that hold at every moment. */
  async step(): Promise<void> {
    await this.#does(this.#random.weighted(this.#steps()));
    if (this.#random.happens(0.1))
      this.#oracle.history(this.#session, await this.#db.store.histories.load(this.#session, 0), false);
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
    const stored = await storedOf(this.#db, this.#session, this.#platform);
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
    const asking = this.#platform === undefined ? 0 : 1;
    // Who is asked mostly answers, and a question that finds a message waiting is never put.
    const isAsked = this.#tabs.some((tab) => tab.isReady && tab.view.pending !== null);
    const isBusy = this.#tabs.some((tab) => tab.view.status === "turning");
    const speaks = asking === 0 ? 5 : isAsked ? 0.5 : isBusy ? 0.8 : 6;
    return [
      [this.#gate.isEmpty ? 0 : 60, "something happens"],
      [6, "a moment passes"],
      [1.5, "a while passes"],
      [2, "a tab connects"],
      [1, "a tab leaves"],
      [speaks, "a tab speaks"],
      [1, "a tab repeats itself"],
      [2.5 - asking * 1.5, "a tab cancels"],
      [0.6, "a page is read"],
      [0.3, "a node dies"],
      [0.3, "an actor crashes"],
      [0.25, "a node freezes"],
      [0.4, "a node wakes"],
      [0.25, "a node drains"],
      [1, "a node starts"],
      [this.#faulty ? 0.5 : 0, "the database falters"],
      [isAsked ? 20 : 0, "a tab answers"],
      [asking * 0.3, "a tab answers anything"],
      [asking * 0.6, "a tab insists"],
      [asking * 3, "a button is pressed"],
    ];
  }

  async #does(what: string): Promise<void> {
    this.trace.push((await this.#do(what)) ?? what);
    await quiet();
    if (this.#loopTurns.happens(0.4)) this.#time.turn();
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
        return tab.isReady ? this.#hands.speaks(tab) : "nobody can speak";
      case "a tab repeats itself":
        return tab.isReady ? this.#hands.repeats(tab) : "nobody can repeat";
      case "a tab cancels":
        if (tab.isReady) return this.#hands.cancels(tab, await this.#lastTurns());
        return;
      case "a tab answers":
        return this.#hands.answers(this.#tabs);
      case "a tab answers anything":
        return tab.isReady ? this.#hands.answersAnything(tab) : "nobody can answer";
      case "a tab insists":
        return tab.isReady ? this.#hands.insists(tab) : "nobody can insist";
      case "a button is pressed":
        return this.#hands.presses(this.#random.happens(0.5) ? this.#tabs : [...this.#tabs].reverse());
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

  async #lastTurns(): Promise<readonly string[]> {
    const rows = await this.#db.sql<{ turn: string }[]>`
      select turn_id as turn from inbox where session_id = ${this.#session} and turn_id is not null
      order by ordinal desc limit 3`;
    return rows.map(({ turn }) => turn);
  }

  /** Proposals that a tab shows, and so may be revised. */
  #proposed(): readonly InteractionId[] {
    const cards = this.#tabs.flatMap((tab) => tab.view.turns.flatMap(({ blocks }) => blocks));
    const ids = cards.flatMap(({ content }) =>
      content["kind"] === "plan_proposal" ? [content["interaction_id"]] : [],
    );
    return [...new Set(ids)] as InteractionId[];
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
    const happened = (effect: Effect) => this.#happened(effect);
    const platform = this.#platform;
    const names = platform === undefined ? TOOL_NAMES : [...TOOL_NAMES, ...ASKING_TOOLS, ...ASKING_TOOLS];
    const scene = node(heldStore(this.#db.store, gate, name), {
      model: randomModel(random, gate, name, names, watch),
      tools: [
        ...tools(random, gate, name, happened),
        ...(platform === undefined ? [] : askingTools(random, gate, name, () => this.#proposed())),
        ...(platform?.tools(random, gate, name, (effect) => this.#wrote(effect)) ?? []),
      ],
      clock,
      chance: random,
      settings: {
        leaseMs: 30_000,
        hibernateAfterMs: random.one(platform === undefined ? [0, 0, 500] : [0, 0, 500, 8_000]),
        queueBound: LIMITS.queued_messages,
      },
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
    one?.directory.resident(this.#session)?.actor.send(event);
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
    for (const resident of one.directory.residents) resident.actor.stop();
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
    const { unsettled, isHeld, open_until } = await sessionRow(this.#db, this.#session);
    const isOver = open_until !== null && open_until.getTime() <= this.now;
    return unsettled === 0 && !isHeld && !isOver;
  }

  /** What changes the world outside left its intent in the database before it left. */
  async #happened(effect: Effect): Promise<void> {
    this.#oracle.happened(effect);
    const intents = await this.#db.sql`select 1 from tool_calls where key = ${effect.key}`;
    if (intents.length === 0) this.#oracle.broken(`${effect.tool} was run before its intent was stored`);
  }

  /** A plan is written for an answer or a button that is in the database. */
  async #wrote(effect: Effect): Promise<void> {
    this.#oracle.happened(effect);
    const { key, tool } = effect;
    if (!this.#oracle.asking.mayWrite(key)) this.#oracle.broken(`${tool} ${key} was asked for by nobody`);
    const intents = await this.#db.sql`
      select 1 from tool_calls where key = ${key} union all select 1 from actions where session_id::text || '.' || command_id::text = ${key}`;
    if (intents.length === 0) this.#oracle.broken(`${tool} ${key} was run before its intent was stored`);
  }
}

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
