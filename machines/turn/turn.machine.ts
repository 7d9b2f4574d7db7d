/**
 * One turn: ask the model, run the tools it calls, ask again, until it answers or needs a person.
 *
 *   opening ─▶ deciding ─▶ reasoning ─▶ deciding ─▶ acting ─▶ deciding ─▶ … ─▶ settling ─▶ completed | …
 *                  └─▶ compacting ─▶ deciding
 *
 * Every path returns to `deciding`, which reads counters and refs only. `opening` reads the turn's entries, so a turn
 * that another owner began goes on where its entries end; calls that are not read-only are protected by their intent.
 */
import { assign, setup } from "xstate";
import type { BackOff, Compacted, Room } from "../compaction/compaction.rules.ts";
import type { TurnId } from "../ids.ts";
import { bind, declare, type Port } from "../ports.ts";
import * as rules from "./turn.rules.ts";

type Acting = { readonly turnId: TurnId; readonly calls: readonly rules.CallRef[] };
type Asking = { readonly turnId: TurnId; readonly step: number; readonly final: boolean };
type Compacting = {
  readonly turnId: TurnId;
  readonly room: Room;
  readonly mayAsk: boolean;
  /** Nobody was told of this shortage yet. */
  readonly isNews: boolean;
};
type Settling = {
  readonly turnId: TurnId;
  readonly ending: rules.Ending;
  readonly steps: number;
  readonly ms: number;
} & {
  /** So little room is left that the next summary should be made ahead of time, if older turns allow. */
  readonly mayDraft: boolean;
};

/** What a turn needs from the outside. All of them write through the fence and reject with `ownership_lost`. */
export type TurnPorts = {
  /** Appends the user entry of a fresh turn, or reads how far a taken-over one is. */
  openTurn: Port<{ readonly turnId: TurnId; readonly limits: rules.TurnLimits }, rules.Progress>;
  /** One model call. Text streams past the chart; the assistant entry and the intents of its calls are appended. */
  askModel: Port<Asking, rules.Reasoned>;
  /** Makes room for the next model call, or finds that it can't; the turn goes on whatever comes of it. */
  compact: Port<Compacting, Compacted>;
  /** Runs the open calls; each gets exactly one result entry. */
  runTools: Port<Acting, rules.Acted>;
  /** Answers what is still open, stores the turn in one statement, tells the clients. */
  settleTurn: Port<Settling, void>;
};

export type TurnOutput =
  | {
      readonly kind: "settled";
      readonly turnId: TurnId;
      readonly ending: rules.Ending;
      readonly backOff?: BackOff;
    }
  | { readonly kind: "parked" | "lost"; readonly turnId: TurnId };

const turn = setup({
  types: {
    input: {} as {
      readonly turnId: TurnId;
      readonly limits: rules.TurnLimits;
      readonly backOff?: BackOff | null;
    },
    context: {} as rules.TurnContext,
    events: {} as { type: "turn.cancel" } | { type: "turn.park" },
    output: {} as TurnOutput,
  },
  actors: declare<TurnPorts>("openTurn", "askModel", "compact", "runTools", "settleTurn"),
  guards: {
    isOver: ({ context }) => rules.isOver(context),
    mustCompact: ({ context }) => rules.mustCompact(context),
    hasOpenCalls: ({ context }) => context.openCalls.length > 0,
    isConcluding: ({ context }) => rules.limitReached(context) !== undefined,
    isOwnershipLost: (_, params: { error: unknown }) => rules.isOwnershipLost(params.error),
    hasOutcome: ({ context }, params: { outcome: rules.Ending["outcome"] }) =>
      rules.endingOf(context).outcome === params.outcome,
  },
  actions: {
    noteProgress: assign((_, params: { progress: rules.Progress }) => params.progress),
    noteReasoning: assign(({ context }, params: { done: rules.Reasoned }) =>
      rules.afterReasoning(context, params.done),
    ),
    noteActing: assign(({ context }, params: { done: rules.Acted }) => rules.afterActing(context, params.done)),
    noteCompacting: assign(({ context }, params: { done: Compacted }) => rules.afterCompacting(context, params.done)),
    noteCompacted: assign({ compacted: true }),
    noteError: assign((_, params: { error: unknown }) => ({ error: rules.failedWith(params.error) })),
    noteUnanswered: assign({ concluded: true, unanswered: true }),
    noteCancel: assign({ cancelled: true }),
    leaveParked: assign({ leftAs: "parked" }),
    leaveLost: assign({ leftAs: "lost" }),
  },
});

/** A port failed: drop everything if the session is another's now, else the turn settles as failed. */
const failing = [
  {
    guard: { type: "isOwnershipLost", params: ({ event }: { event: { error: unknown } }) => ({ error: event.error }) },
    target: "lost",
  },
  {
    target: "deciding",
    actions: { type: "noteError", params: ({ event }: { event: { error: unknown } }) => ({ error: event.error }) },
  },
] as const;

function settledAs(context: rules.TurnContext): TurnOutput {
  const backOff = rules.backOffLeft(context);
  const { turnId } = context;
  return { kind: "settled", turnId, ending: rules.endingOf(context), ...(backOff && { backOff }) };
}

const interruptible = {
  "turn.cancel": { target: "deciding", actions: "noteCancel" },
  "turn.park": "parked",
} as const;

export const turnMachine = turn.createMachine({
  id: "turn",
  context: ({ input }) => ({
    ...input,
    backOff: input.backOff ?? null,
    summariserAsked: false,
    compacted: false,
    steps: 0,
    ms: 0,
    tokens: 0,
    openCalls: [],
    answered: false,
    repeats: 0,
    unknownSteps: 0,
    concluded: false,
    truncated: false,
    cancelled: false,
    exhausted: false,
    paused: false,
    authExpired: false,
    unanswered: false,
    error: null,
    leftAs: null,
  }),
  output: ({ context }) =>
    context.leftAs === null ? settledAs(context) : { kind: context.leftAs, turnId: context.turnId },
  initial: "opening",
  states: {
    opening: {
      // A cancel that comes while entries are read is kept for `deciding`: the turn must be opened to be settled.
      on: { "turn.cancel": { actions: "noteCancel" }, "turn.park": "parked" },
      invoke: {
        src: "openTurn",
        input: ({ context }) => ({ turnId: context.turnId, limits: context.limits }),
        onDone: {
          target: "deciding",
          actions: {
            type: "noteProgress",
            params: ({ event, context }) => ({
              progress: { ...event.output, cancelled: event.output.cancelled || context.cancelled },
            }),
          },
        },
        onError: [...failing],
      },
    },
    deciding: {
      always: [
        { guard: "isOver", target: "settling" },
        { guard: "hasOpenCalls", target: "acting" },
        { guard: "mustCompact", target: "compacting" },
        { target: "reasoning" },
      ],
    },
    compacting: {
      on: interruptible,
      invoke: {
        src: "compact",
        input: ({ context }) => {
          if (context.room === undefined) throw new TypeError("a context without a budget can't be too full");
          const { turnId, room, backOff } = context;
          return { turnId, room, mayAsk: rules.maySummarise(context), isNews: backOff === null };
        },
        onDone: {
          target: "deciding",
          actions: { type: "noteCompacting", params: ({ event }) => ({ done: event.output }) },
        },
        // A compaction that breaks never breaks the turn: it is asked with the context as it is.
        onError: [
          { guard: { type: "isOwnershipLost", params: ({ event }) => ({ error: event.error }) }, target: "lost" },
          { target: "deciding", actions: "noteCompacted" },
        ],
      },
    },
    reasoning: {
      on: interruptible,
      invoke: {
        src: "askModel",
        input: ({ context }) => ({
          turnId: context.turnId,
          step: context.steps + 1,
          final: rules.limitReached(context) !== undefined,
        }),
        onDone: {
          target: "deciding",
          actions: { type: "noteReasoning", params: ({ event }) => ({ done: event.output }) },
        },
        // The work of the turn is done and kept: without a last word it ends for its limit, not as a failure.
        onError: [failing[0], { guard: "isConcluding", target: "deciding", actions: "noteUnanswered" }, failing[1]],
      },
    },
    acting: {
      on: interruptible,
      invoke: {
        src: "runTools",
        input: ({ context }) => ({ turnId: context.turnId, calls: context.openCalls }),
        onDone: {
          target: "deciding",
          actions: { type: "noteActing", params: ({ event }) => ({ done: event.output }) },
        },
        onError: [...failing],
      },
    },
    settling: {
      // Too late to cancel or to park: the outcome is being written.
      on: { "turn.cancel": {}, "turn.park": {} },
      invoke: {
        src: "settleTurn",
        input: ({ context }) => ({
          turnId: context.turnId,
          ending: rules.endingOf(context),
          steps: context.steps,
          ms: context.ms,
          mayDraft: context.backOff === null,
        }),
        onDone: [
          { guard: { type: "hasOutcome", params: { outcome: "completed" } }, target: "completed" },
          { guard: { type: "hasOutcome", params: { outcome: "awaiting" } }, target: "awaiting" },
          { guard: { type: "hasOutcome", params: { outcome: "cancelled" } }, target: "cancelled" },
          { target: "failed" },
        ],
        // What can't be stored is not settled: the row stays `running` and the next owner goes on from the entries.
        onError: [
          { guard: { type: "isOwnershipLost", params: ({ event }) => ({ error: event.error }) }, target: "lost" },
          { target: "parked" },
        ],
      },
    },
    completed: { type: "final" },
    awaiting: { type: "final" },
    failed: { type: "final" },
    cancelled: { type: "final" },
    parked: { type: "final", entry: "leaveParked" },
    lost: { type: "final", entry: "leaveLost" },
  },
});

/** `compact` is for a turn whose ports keep a budget (`room`): without one it is never asked for. */
export const wireTurn = (ports: Omit<TurnPorts, "compact"> & Partial<TurnPorts>) =>
  turnMachine.provide({ actors: bind(ports) });
