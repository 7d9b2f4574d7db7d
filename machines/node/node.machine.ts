/**
 * One process from start to exit.
 *
 *   starting ─▶ serving (ready ⇄ degraded) ─▶ leading ─▶ finishing ─▶ parking ─▶ closing ─▶ stopped
 *
 * Drain is the path from `leading` on: still serving for the lead time, running turns finish inside the grace, what
 * is left is parked for the next owner, then everything closes in order. `stopped` carries what was not saved.
 */
import { assign, setup } from "xstate";
import { declare, type Port } from "../ports.ts";

export type NodePorts = {
  /** Migrations, predecessor's leases, listeners. Rejects when the process can't serve. */
  startNode: Port<void, void>;
  /** Resolves when no turn runs any more. */
  whenQuiet: Port<void, void>;
  /** Parks running turns, puts sessions to sleep; gives the sessions that could not be saved. */
  saveSessions: Port<void, readonly string[]>;
  /** Sockets, workers, database, logs, in this order; bounded. */
  closeAll: Port<void, void>;
};

export type NodeEvent =
  | { readonly type: "database.lost" }
  | { readonly type: "database.back" }
  | { readonly type: "node.drain" }
  /** A second signal, or a fault that nothing caught: no more waiting. */
  | { readonly type: "node.hurry" };

type Context = {
  readonly leadMs: number;
  readonly graceMs: number;
  readonly unsaved: readonly string[];
  readonly failure: unknown;
};

const node = setup({
  types: {
    input: {} as { readonly leadMs: number; readonly graceMs: number },
    context: {} as Context,
    events: {} as NodeEvent,
    output: {} as { readonly unsaved: readonly string[]; readonly failure: unknown },
  },
  actors: declare<NodePorts>("startNode", "whenQuiet", "saveSessions", "closeAll"),
  delays: { lead: ({ context }) => context.leadMs, grace: ({ context }) => context.graceMs },
  actions: {
    noteUnsaved: assign((_, params: { unsaved: readonly string[] }) => ({ unsaved: params.unsaved })),
    noteFailure: assign((_, params: { error: unknown }) => ({ failure: params.error })),
  },
});

export const nodeMachine = node.createMachine({
  id: "node",
  context: ({ input }) => ({ ...input, unsaved: [], failure: null }),
  output: ({ context }) => ({ unsaved: context.unsaved, failure: context.failure }),
  initial: "starting",
  states: {
    starting: {
      // What has begun to start must be closed all the same.
      on: { "node.drain": "closing", "node.hurry": "closing", "database.lost": {}, "database.back": {} },
      invoke: {
        src: "startNode",
        onDone: "serving",
        onError: {
          target: "closing",
          actions: { type: "noteFailure", params: ({ event }) => ({ error: event.error }) },
        },
      },
    },
    serving: {
      initial: "ready",
      on: { "node.drain": "leading", "node.hurry": "parking" },
      states: {
        ready: { on: { "database.lost": "degraded", "database.back": {} } },
        degraded: { on: { "database.back": "ready", "database.lost": {} } },
      },
    },
    leading: {
      after: { lead: "finishing" },
      on: { "node.hurry": "parking", "node.drain": {}, "database.lost": {}, "database.back": {} },
    },
    finishing: {
      after: { grace: "parking" },
      on: { "node.hurry": "parking", "node.drain": {}, "database.lost": {}, "database.back": {} },
      invoke: { src: "whenQuiet", onDone: "parking", onError: "parking" },
    },
    parking: {
      on: { "node.hurry": {}, "node.drain": {}, "database.lost": {}, "database.back": {} },
      invoke: {
        src: "saveSessions",
        onDone: {
          target: "closing",
          actions: { type: "noteUnsaved", params: ({ event }) => ({ unsaved: event.output }) },
        },
        onError: {
          target: "closing",
          actions: { type: "noteFailure", params: ({ event }) => ({ error: event.error }) },
        },
      },
    },
    closing: {
      on: { "node.hurry": {}, "node.drain": {}, "database.lost": {}, "database.back": {} },
      invoke: {
        src: "closeAll",
        onDone: "stopped",
        onError: {
          target: "stopped",
          actions: { type: "noteFailure", params: ({ event }) => ({ error: event.error }) },
        },
      },
    },
    stopped: { type: "final" },
  },
});
