import { CARD, cardExamples, type Explained, id, item, type OfKinds, QUESTION, question } from "./card-examples.ts";
import type { Command } from "./commands.ts";
import type { numberedSignals, plainSignals } from "./signals.ts";

export type { Explained } from "./card-examples.ts";

const [SESSION, TURN, NEXT_TURN, BLOCK, COMMAND] = [id(1), id(2), id(3), id(5), id(9)];
const IN_TEXT = "place in the block's text so far, in UTF-16 units";

const open = {
  ...question,
  id: QUESTION,
  schema: { type: "array", items: { type: "string", enum: ["glycinate", "citrate"] }, minItems: 1, maxItems: 1 },
};
const answered = { kind: "answered" as const, selected: ["glycinate"] };
const plan = { plan_id: "plan-31", title: "Magnesium for sleep" };
const textBlock = { block_id: BLOCK, idx: 0, type: "text", attempt: 1 };

export const numberedExamples: OfKinds<keyof typeof numberedSignals> = {
  turn_started: {
    meaning: "A turn runs. One that was interrupted starts again under its own id, with the cause `recovery`.",
    fields: { n: "counts a session's turns from 1", input: "the message, or the answer with `label`, its words" },
    example: { turn_id: TURN, n: 1, cause: "message", input: { text: "Which magnesium helps with sleep?" } },
  },
  queue_changed: {
    meaning: "Messages wait for the turn before them.",
    fields: { waiting: "the whole queue, each time" },
    example: { waiting: [{ turn_id: NEXT_TURN, text: "And for cramps?" }] },
  },
  block_started: {
    meaning: "A piece of the answer begins and is shown from now on.",
    fields: { idx: "its place in the turn", type: "`text`, `thinking` or the kind of a card" },
    example: textBlock,
  },
  llm_delta: {
    meaning:
      "Text of a text block, as the model writes it. Neighbours may come merged: then `from_seq` is the first number.",
    fields: { offset: IN_TEXT },
    example: { block_id: BLOCK, offset: 0, text: "Glycinate is " },
  },
  thinking_summary: {
    meaning: "Text of a thinking block: the model's own summary of its reasoning.",
    fields: { offset: IN_TEXT },
    example: { block_id: BLOCK, offset: 0, text: "The record lists a loop diuretic." },
  },
  block_reset: {
    meaning: "What was shown of a block is void; it is absent until it starts again with a higher attempt.",
    fields: { attempt: "the one that is void" },
    example: { block_id: BLOCK, attempt: 1, reason: "failover" },
  },
  block_finished: {
    meaning: "The final, stored form of a block. It wins over everything that was streamed.",
    fields: { content: "`{text}`, or a card's data" },
    example: { ...textBlock, content: { text: "Glycinate is gentle." } },
  },
  skill_loaded: {
    meaning: "The model has a skill's instructions now.",
    fields: { eager: "loaded by the system before the model asked" },
    example: { name: "interaction-depletion-check", eager: false },
  },
  tool_call_started: {
    meaning: "A tool runs for the model.",
    fields: { title: "for people" },
    example: { call_id: "c1", name: "interaction_check", title: "Checking interactions" },
  },
  tool_call_progress: {
    meaning: "How far a tool says it is; at most twice a second for one call, never stored.",
    fields: { progress: "in the tool's own units", message: "for people" },
    example: { call_id: "c1", name: "interaction_check", progress: 3, total: 8, message: "reading the list" },
  },
  tool_call_finished: {
    meaning: "A tool has ended. `unknown`: it may have had its effect; the model is told so.",
    example: { call_id: "c1", name: "interaction_check", outcome: "ok", ms: 340 },
  },
  ...cardExamples,
  action_done: {
    meaning: "A card's button was carried out, without the model. Turns that are read later have it under `actions`.",
    fields: { block_id: "the card whose button it was", message: "why it failed, for people" },
    example: { block_id: CARD, action: "add_to_plan", item, result: "done", plan },
  },
  subagent_started: {
    meaning: "A sub-agent works for the turn.",
    example: { call_id: "c2", kind: "research", label: "Searching the evidence" },
  },
  subagent_progress: {
    meaning: "What a sub-agent is at.",
    example: { call_id: "c2", kind: "research", label: "Reading 4 studies" },
  },
  subagent_finished: { meaning: "A sub-agent has ended.", example: { call_id: "c2", kind: "research", outcome: "ok" } },
  compaction_started: { meaning: "Older turns are being folded into a summary.", example: {} },
  compaction_finished: {
    meaning: "The folding has ended; only `applied` has changed what the model reads.",
    example: { outcome: "applied", tokens_before: 90_000, tokens_after: 22_000 },
  },
  state_changed: {
    meaning: "Where the session stands, and what waits for an answer.",
    fields: { pending_interaction: "`schema` is what `selected`, or a proposal's `edits`, may be" },
    example: { status: "awaiting", pending_interaction: open },
  },
  interaction_resolved: {
    meaning: "An interaction has ended: answered, overtaken by a message, or expired.",
    fields: { resolution: "null unless a user gave one" },
    example: { interaction_id: QUESTION, resolution: answered, by: "user" },
  },
  context_budget: {
    meaning: "How full the model's context is, in tokens.",
    fields: { threshold: "from here on older turns are folded" },
    example: {
      used: 14_000,
      window: 1_000_000,
      threshold: 90_000,
      parts: { system: 2000, skills: 1000, tools: 6000, summary: 0, tail: 5000 },
    },
  },
  turn_completed: {
    meaning: "The turn is stored. `awaiting`: it ended with a question.",
    fields: { reason: "why it ended early", usage: "tokens" },
    example: {
      turn_id: TURN,
      outcome: "completed",
      usage: { input: 900, output: 120, thinking: 40, cached: 0 },
      ms: 2100,
      steps: 2,
    },
  },
  turn_failed: {
    meaning: "The turn ended without an answer; what was shown of it is stored.",
    fields: { retryable: "the same message may succeed later" },
    example: { turn_id: TURN, code: "model_unavailable", message: "The model can't be reached.", retryable: true },
  },
  turn_cancelled: { meaning: "The user stopped the turn.", example: { turn_id: TURN } },
};

export const plainExamples: OfKinds<keyof typeof plainSignals> = {
  session_opened: {
    meaning: "The first signal on every connection.",
    fields: { next_seq: "the number that the next numbered signal has", limits: "a client refuses to send more" },
    example: {
      session_id: SESSION,
      thawed: false,
      status: "resting",
      next_seq: 12,
      agent: "assist",
      simulated: false,
      limits: {
        text_bytes: 65_536,
        frame_bytes: 262_144,
        commands_per_second: 20,
        queued_messages: 10,
        send_buffer_bytes: 1_048_576,
        upload_bytes: 10_485_760,
      },
    },
  },
  message_accepted: {
    meaning: "Answer to `message`, sent after the commit: it will be answered whatever dies.",
    fields: { id: "the command's", duplicate: "this id was answered before" },
    example: { id: COMMAND, turn_id: TURN, queued: false },
  },
  interaction_receipt: {
    meaning: "Answer to `resolve`. Only `accepted` has started a turn; `stale` comes with what is open instead.",
    fields: { message: "what is wrong with an invalid one, for people" },
    example: { id: COMMAND, interaction_id: QUESTION, result: "accepted", turn_id: NEXT_TURN, open: null },
  },
  action_receipt: {
    meaning: "Answer to `action`.",
    fields: { message: "why it was not done, for people" },
    example: { id: COMMAND, result: "done", plan },
  },
  cancel_receipt: { meaning: "Answer to `cancel`.", example: { id: COMMAND, cancelled: [TURN] } },
  pong: { meaning: "Answer to `ping`.", example: { id: COMMAND } },
  auth_expired: { meaning: "The login has ended. Get a new cookie, then connect again.", example: {} },
  server_draining: {
    meaning: "The server is about to stop; another one takes over.",
    example: { reconnect_after_ms: 1500 },
  },
  resync: {
    meaning: "Replaces everything that a client holds from turn `from_turn` on. Only this signal may skip numbers.",
    fields: { seq: "goes on from here" },
    example: {
      from_turn: 1,
      turns: [
        {
          turn_id: TURN,
          n: 1,
          cause: "message",
          input: { text: "Which magnesium helps with sleep?" },
          outcome: "completed",
          blocks: [{ ...textBlock, content: { text: "Glycinate is gentle." } }],
        },
      ],
      state: { status: "resting", pending_interaction: null, queue: [] },
      seq: 11,
    },
  },
  heartbeat: { meaning: "Nothing was said for 25 s; the line is alive.", example: {} },
  error: {
    meaning: "A command was refused; `id` is there where it could be read.",
    example: { id: COMMAND, code: "queue_full", message: "10 messages wait already" },
  },
};

export const commandExamples: { readonly [T in Command["type"]]: Explained<Extract<Command, { type: T }>> } = {
  message: {
    meaning: "Says something. Blank text is allowed only with an entry point or attachments.",
    fields: { context: "what the user looks at", attachments: "ids of uploads", entry_point: "a skill's way in" },
    example: { type: "message", id: COMMAND, text: "Which magnesium helps?", context: { patient_id: "pat-008" } },
  },
  resolve: {
    meaning: "Answers, accepts or dismisses what is open, in the revision that was shown.",
    example: { type: "resolve", id: COMMAND, interaction_id: QUESTION, revision: 1, resolution: answered },
  },
  action: {
    meaning: "Presses a card's button: the system writes it as the user, without the model.",
    fields: { plan_id: "the draft it goes into; absent: a new one" },
    example: { type: "action", id: COMMAND, block_id: CARD, action: "add_to_plan", item },
  },
  cancel: {
    meaning: "Stops the turn that runs, or takes back the one named.",
    example: { type: "cancel", id: COMMAND, turn_id: TURN },
  },
  ping: {
    meaning: "Says that the line is alive; sent after 25 s without another command.",
    example: { type: "ping", id: COMMAND },
  },
};
