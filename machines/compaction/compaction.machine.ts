/**
 * One attempt to make room before a model call. It always ends, and the turn goes on whatever comes of it.
 *
 *   selecting ─▶ summarising ─▶ validating ─▶ applying ─▶ judging ─▶ applied | skipped | failed
 *        └─ a draft lies ready ──────────────────┘            └─ still over the window ─▶ cutting ─▶ judging
 *
 * Texts stay with the ports: the chart reads verdicts and counters. A thawed one starts its state's port once more.
 */
import { assign, setup } from "xstate";
import { failureCode } from "../failure.ts";
import { bind, declare, type Port } from "../ports.ts";
import * as rules from "./compaction.rules.ts";

/** What an attempt needs from the outside. */
export type CompactionPorts = {
  /** Looks for a draft that fits and for turns that are worth folding. */
  select: Port<{ readonly mayAsk: boolean }, rules.Selected>;
  /** Has the older turns summed up, in as many pieces as it takes, and judges the text. Ends by `deadline`. */
  summarise: Port<{ readonly deadline: number }, rules.Verdict>;
  /** Appends the summary and moves the anchor, in one statement. */
  apply: Port<{ readonly draft: boolean }, rules.Room>;
  /** Leaves out whole turns, then shortens results, by rule: until the request fits. Null: nothing was left to do. */
  cut: Port<Record<never, never>, rules.Room | null>;
};

type Input = Pick<rules.CompactionContext, "room" | "mayAsk" | "deadline">;

const compaction = setup({
  types: {
    input: {} as Input,
    context: {} as rules.CompactionContext,
    // Nobody speaks to it: whoever ends the turn stops it.
    events: {} as { readonly type: never },
    output: {} as rules.Compacted,
  },
  actors: declare<CompactionPorts>("select", "summarise", "apply", "cut"),
  guards: {
    isSelected: (_, params: { selected: rules.Selected; kind: rules.Selected["kind"] }) =>
      params.selected.kind === params.kind,
    isAccepted: ({ context }) => context.verdict?.kind === "accepted",
    mustCut: ({ context }) => rules.isOverWindow(context.room) && !context.cutTried,
    isOutcome: ({ context }, params: { outcome: rules.Compacted["outcome"] }) =>
      rules.outcomeOf(context) === params.outcome,
  },
  actions: {
    noteAsked: assign({ asked: true }),
    noteVerdict: assign((_, params: { verdict: rules.Verdict }) => ({
      verdict: params.verdict,
      reason: rules.reasonOf(params.verdict),
    })),
    noteApplied: assign(({ context }, params: { room: rules.Room }) => ({
      room: params.room,
      applied: context.verdict?.kind === "accepted" ? ("summary" as const) : ("draft" as const),
    })),
    noteCut: assign(({ context }, params: { room: rules.Room | null }) =>
      params.room === null
        ? { cutTried: true }
        : { cutTried: true, room: params.room, applied: context.applied ?? ("cut" as const) },
    ),
    noteError: assign((_, params: { error: unknown }) => ({ reason: failureCode(params.error) })),
    noteCutTried: assign({ cutTried: true }),
  },
});

const erring = {
  type: "noteError",
  params: ({ event }: { event: { error: unknown } }) => ({ error: event.error }),
} as const;

export const compactionMachine = compaction.createMachine({
  id: "compaction",
  context: ({ input }) => ({
    ...input,
    asked: false,
    verdict: null,
    applied: null,
    cutTried: false,
    reason: null,
  }),
  output: ({ context }) => rules.outputOf(context),
  initial: "selecting",
  states: {
    selecting: {
      invoke: {
        src: "select",
        input: ({ context }) => ({ mayAsk: context.mayAsk }),
        onDone: [
          {
            guard: { type: "isSelected", params: ({ event }) => ({ selected: event.output, kind: "draft" }) },
            target: "applying",
          },
          {
            guard: { type: "isSelected", params: ({ event }) => ({ selected: event.output, kind: "fold" }) },
            target: "summarising",
            actions: "noteAsked",
          },
          { target: "judging" },
        ],
        onError: { target: "judging", actions: erring },
      },
    },
    summarising: {
      invoke: {
        src: "summarise",
        input: ({ context }) => ({ deadline: context.deadline }),
        onDone: {
          target: "validating",
          actions: { type: "noteVerdict", params: ({ event }) => ({ verdict: event.output }) },
        },
        onError: { target: "judging", actions: erring },
      },
    },
    validating: { always: [{ guard: "isAccepted", target: "applying" }, { target: "judging" }] },
    applying: {
      invoke: {
        src: "apply",
        input: ({ context }) => ({ draft: context.verdict === null }),
        onDone: {
          target: "judging",
          actions: { type: "noteApplied", params: ({ event }) => ({ room: event.output }) },
        },
        onError: { target: "judging", actions: erring },
      },
    },
    judging: {
      always: [
        { guard: "mustCut", target: "cutting" },
        { guard: { type: "isOutcome", params: { outcome: "applied" } }, target: "applied" },
        { guard: { type: "isOutcome", params: { outcome: "failed" } }, target: "failed" },
        { target: "skipped" },
      ],
    },
    cutting: {
      invoke: {
        src: "cut",
        input: {},
        onDone: { target: "judging", actions: { type: "noteCut", params: ({ event }) => ({ room: event.output }) } },
        onError: { target: "judging", actions: [erring, "noteCutTried"] },
      },
    },
    applied: { type: "final" },
    skipped: { type: "final" },
    failed: { type: "final" },
  },
});

export const wireCompaction = (ports: CompactionPorts) => compactionMachine.provide({ actors: bind(ports) });
