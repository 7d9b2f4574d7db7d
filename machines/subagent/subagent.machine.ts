/**
 * A sub-agent: a loop of its own, with a budget of its own, until it calls its finishing tool.
 *
 *   deciding ─▶ reasoning ─▶ deciding ─▶ acting ─▶ deciding ─▶ … ─▶ finished | failed | cancelled
 *
 * It lives in one worker and is never persisted: a worker that dies leaves a job that begins anew, once. Nothing it does
 * changes the world, so beginning anew is safe.
 */
import { assign, setup } from "xstate";
import { bind, declare, type Port } from "../ports.ts";
import * as rules from "./subagent.rules.ts";

export type SubagentPorts = {
  /** One model call. `last`: the budget is spent, only the finishing tool is offered. */
  askModel: Port<{ readonly step: number; readonly last: boolean; readonly reminded: boolean }, rules.Reasoned>;
  /** Runs the calls of the last answer. */
  runTools: Port<{ readonly calls: readonly rules.CallRef[] }, rules.Acted>;
};

const subagent = setup({
  types: {
    input: {} as { readonly budget: rules.SubagentBudget },
    context: {} as rules.SubagentContext,
    events: {} as { type: "subagent.cancel" },
    output: {} as rules.SubagentEnding,
  },
  actors: declare<SubagentPorts>("askModel", "runTools"),
  guards: {
    isOver: ({ context }) => rules.isOver(context),
    hasOpenCalls: ({ context }) => context.openCalls.length > 0,
    endsAs: ({ context }, params: { outcome: rules.SubagentEnding["outcome"] }) =>
      rules.isOver(context) && rules.endingOf(context).outcome === params.outcome,
  },
  actions: {
    noteReasoning: assign(({ context }, params: { done: rules.Reasoned }) =>
      rules.afterReasoning(context, params.done),
    ),
    noteActing: assign(({ context }, params: { done: rules.Acted }) => rules.afterActing(context, params.done)),
    noteError: assign((_, params: { error: unknown }) => ({ error: rules.failedWith(params.error) })),
    noteCancel: assign({ cancelled: true }),
  },
});

const failing = {
  target: "deciding",
  actions: { type: "noteError", params: ({ event }: { event: { error: unknown } }) => ({ error: event.error }) },
} as const;
const cancellable = { "subagent.cancel": { target: "deciding", actions: "noteCancel" } } as const;

export const subagentMachine = subagent.createMachine({
  id: "subagent",
  context: ({ input }) => ({
    budget: input.budget,
    steps: 0,
    tokens: 0,
    ms: 0,
    cost: 0,
    openCalls: [],
    silent: 0,
    finished: false,
    cancelled: false,
    concluded: false,
    error: null,
  }),
  output: ({ context }) => rules.endingOf(context),
  initial: "deciding",
  states: {
    deciding: {
      always: [
        { guard: { type: "endsAs", params: { outcome: "finished" } }, target: "finished" },
        { guard: { type: "endsAs", params: { outcome: "cancelled" } }, target: "cancelled" },
        { guard: { type: "endsAs", params: { outcome: "failed" } }, target: "failed" },
        { guard: "hasOpenCalls", target: "acting" },
        { target: "reasoning" },
      ],
    },
    reasoning: {
      on: cancellable,
      invoke: {
        src: "askModel",
        input: ({ context }) => ({
          step: context.steps + 1,
          last: rules.budgetReached(context) !== undefined,
          reminded: context.silent > 0,
        }),
        onDone: {
          target: "deciding",
          actions: { type: "noteReasoning", params: ({ event }) => ({ done: event.output }) },
        },
        onError: failing,
      },
    },
    acting: {
      on: cancellable,
      invoke: {
        src: "runTools",
        input: ({ context }) => ({ calls: context.openCalls }),
        onDone: {
          target: "deciding",
          actions: { type: "noteActing", params: ({ event }) => ({ done: event.output }) },
        },
        onError: failing,
      },
    },
    finished: { type: "final" },
    failed: { type: "final" },
    cancelled: { type: "final" },
  },
});

export const wireSubagent = (ports: SubagentPorts) => subagentMachine.provide({ actors: bind(ports) });
