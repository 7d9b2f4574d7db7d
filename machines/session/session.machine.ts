/**
 * One conversation. Its queue is the waiting inbox rows; it runs one turn at a time and sleeps when none waits.
 *
 *   deciding ─▶ turning ─▶ deciding ─▶ resting | awaiting ─▶ hibernating ─▶ hibernated
 *                                             └─ a message or an answer ─▶ turning
 *
 * Persisted while `hibernating`. A thawed session decides anew: what waits now was read with it.
 * `hibernated`, `parked`, `lost` and `crashed` are final; the directory decides what follows.
 */
import { assign, sendTo, setup } from "xstate";
import type { TurnId } from "../ids.ts";
import { declare, type Port } from "../ports.ts";
import { type TurnOutput, turnMachine } from "../turn/turn.machine.ts";
import * as rules from "./session.rules.ts";

export type SessionPorts = {
  /** One statement: stores the snapshot and frees the lease only if no row waits, else says `busy`. */
  fallAsleep: Port<void, "asleep" | "busy">;
  /** Resolves once the open interaction's time is over and it is closed; never while it has no end. */
  expire: Port<void, void>;
};

export type SessionEvent =
  | { readonly type: "message.admitted"; readonly turnId: TurnId }
  /** A waiting turn was withdrawn; its row says so already. */
  | { readonly type: "turn.withdrawn"; readonly turnId: TurnId }
  /** The turn that runs was cancelled; its row says so already. */
  | { readonly type: "turn.cancel"; readonly turnId: TurnId }
  /** No new turns here: the one that runs may finish. */
  | { readonly type: "drain.begin" }
  /** The grace is over: the turn that runs is left to the next owner. */
  | { readonly type: "drain.park" };

const session = setup({
  types: {
    input: {} as rules.SessionInput,
    context: {} as rules.SessionContext,
    events: {} as SessionEvent,
  },
  actors: { ...declare<SessionPorts>("fallAsleep", "expire"), turn: turnMachine },
  delays: { rest: ({ context }) => rules.restMs(context) },
  guards: {
    mayTurn: ({ context }) => context.queue.length > 0 && !context.draining,
    isDraining: ({ context }) => context.draining,
    isAwaiting: ({ context }) => context.awaiting,
    isRunning: ({ context }, params: { turnId: TurnId }) => context.running === params.turnId,
    leftAs: (_, params: { output: TurnOutput; as: "parked" | "lost" }) => params.output.kind === params.as,
    isAsleep: (_, params: { result: "asleep" | "busy" }) => params.result === "asleep",
    isOwnershipLost: (_, params: { error: unknown }) => rules.isOwnershipLost(params.error),
  },
  actions: {
    enqueue: assign(({ context }, params: { turnId: TurnId }) => ({
      queue: rules.enqueue(context.queue, context.running, params.turnId),
    })),
    withdraw: assign(({ context }, params: { turnId: TurnId }) => ({
      queue: rules.withdraw(context.queue, params.turnId),
    })),
    startNext: assign(({ context }) => ({ running: context.queue[0] ?? null, queue: context.queue.slice(1) })),
    noteTurnEnd: assign((_, params: { output: TurnOutput }) => ({
      running: null,
      restless: 0,
      awaiting: params.output.kind === "settled" && params.output.ending.outcome === "awaiting",
      backOff: params.output.kind === "settled" ? (params.output.backOff ?? null) : null,
    })),
    noteExpired: assign({ awaiting: false }),
    noteDrain: assign({ draining: true }),
    noteRestless: assign(({ context }) => ({ restless: context.restless + 1 })),
    cancelTurn: sendTo("turn", { type: "turn.cancel" }),
    parkTurn: sendTo("turn", { type: "turn.park" }),
  },
});

const admitted = {
  type: "enqueue",
  params: ({ event }: { event: { turnId: TurnId } }) => ({ turnId: event.turnId }),
} as const;
const withdrawn = {
  type: "withdraw",
  params: ({ event }: { event: { turnId: TurnId } }) => ({ turnId: event.turnId }),
} as const;

export const sessionMachine = session.createMachine({
  id: rules.SESSION_MACHINE,
  context: ({ input }) => ({ ...input, running: null, restless: 0, backOff: input.backOff ?? null }),
  initial: "deciding",
  states: {
    deciding: {
      always: [
        { guard: "mayTurn", target: "turning" },
        { guard: "isDraining", target: "hibernating" },
        { guard: "isAwaiting", target: "awaiting" },
        { target: "resting" },
      ],
    },
    resting: {
      after: { rest: "hibernating" },
      on: {
        "message.admitted": { target: "deciding", actions: admitted },
        "drain.begin": { target: "deciding", actions: "noteDrain" },
        // Nothing runs and nothing waits: these speak of a turn that is over.
        "turn.withdrawn": {},
        "turn.cancel": {},
        "drain.park": { target: "deciding", actions: "noteDrain" },
      },
    },
    awaiting: {
      after: { rest: "hibernating" },
      invoke: {
        src: "expire",
        onDone: { target: "deciding", actions: "noteExpired" },
        onError: [
          { guard: { type: "isOwnershipLost", params: ({ event }) => ({ error: event.error }) }, target: "lost" },
          { target: "deciding", actions: "noteRestless" },
        ],
      },
      on: {
        "message.admitted": { target: "deciding", actions: admitted },
        "drain.begin": { target: "deciding", actions: "noteDrain" },
        "turn.withdrawn": {},
        "turn.cancel": {},
        "drain.park": { target: "deciding", actions: "noteDrain" },
      },
    },
    turning: {
      entry: "startNext",
      on: {
        "message.admitted": { actions: admitted },
        "turn.withdrawn": { actions: withdrawn },
        "turn.cancel": {
          guard: { type: "isRunning", params: ({ event }) => ({ turnId: event.turnId }) },
          actions: "cancelTurn",
        },
        "drain.begin": { actions: "noteDrain" },
        "drain.park": { actions: ["noteDrain", "parkTurn"] },
      },
      invoke: {
        id: "turn",
        src: "turn",
        input: ({ context }) => {
          if (context.running === null) throw new TypeError("a turn needs a row that waits");
          return { turnId: context.running, limits: context.limits, backOff: context.backOff };
        },
        onDone: [
          { guard: { type: "leftAs", params: ({ event }) => ({ output: event.output, as: "lost" }) }, target: "lost" },
          {
            guard: { type: "leftAs", params: ({ event }) => ({ output: event.output, as: "parked" }) },
            target: "parked",
          },
          { target: "deciding", actions: { type: "noteTurnEnd", params: ({ event }) => ({ output: event.output }) } },
        ],
        onError: "crashed",
      },
    },
    hibernating: {
      on: {
        "message.admitted": { actions: admitted },
        "turn.withdrawn": { actions: withdrawn },
        "turn.cancel": {},
        "drain.begin": { actions: "noteDrain" },
        "drain.park": { actions: "noteDrain" },
      },
      invoke: {
        src: "fallAsleep",
        onDone: [
          { guard: { type: "isAsleep", params: ({ event }) => ({ result: event.output }) }, target: "hibernated" },
          // Rows wait that this node must not start any more: the next owner finds them.
          { guard: "isDraining", target: "parked" },
          // A row may be known before its event is, or an action is under way: rest a moment, then ask again.
          { target: "deciding", actions: "noteRestless" },
        ],
        onError: [
          { guard: { type: "isOwnershipLost", params: ({ event }) => ({ error: event.error }) }, target: "lost" },
          { guard: "isDraining", target: "unsaved" },
          { target: "deciding", actions: "noteRestless" },
        ],
      },
    },
    hibernated: { type: "final" },
    parked: { type: "final" },
    lost: { type: "final" },
    unsaved: { type: "final" },
    crashed: { type: "final" },
  },
});
