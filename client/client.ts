/**
 * What the client library offers, in one place: the entry for bundlers, and the list to read. It needs zod and nothing
 * else. The store (`store.ts`) is an entry of its own, because it needs `@xstate/store`.
 */
export type { Command, Resolution } from "../machines/protocol/commands.ts";
export type { PendingInteraction, Proposal, ProposalEdits } from "../machines/protocol/interactions.ts";
export type {
  CardData,
  CardKind,
  CardSignal,
  Signal,
  SignalData,
  SignalKind,
  UnknownSignal,
} from "../machines/protocol/signals.ts";
export type { ActionDone, Block, Turn } from "../machines/protocol/turns.ts";
export type { Update } from "./backlog.ts";
export { readCard } from "./card.ts";
export { type Clock, systemClock } from "./clock.ts";
export {
  accept,
  addToPlan,
  answer,
  cancel,
  dismiss,
  message,
  newId,
  type ReceiptOf,
  resolve,
  type Sendable,
  type Shown,
} from "./commands.ts";
export {
  type Connection,
  type ConnectOptions,
  connect,
  type Ending as ConnectionEnding,
  endingWords,
  type Status,
} from "./connection.ts";
export { type Conversation, type ConversationOptions, conversation } from "./conversation.ts";
export {
  CommandRefused,
  ConnectionEnded,
  ConversationEnded,
  HttpRefused,
  LimitExceeded,
  Unreachable,
} from "./errors.ts";
export { type Fetch, type SessionPage, type SessionSummary, type SessionsApi, sessionsApi } from "./http.ts";
export { type Asked, type Ended, isOpen, type Standing, standing } from "./interactions.ts";
export { applySignal, storedBlocks, storedTurn, withOlderTurns } from "./reducer.ts";
export { type SocketFactory, socketUrl, type WebSocketLike } from "./socket.ts";
export {
  type Activity,
  type BlockView,
  blockText,
  type Ending,
  emptyView,
  olderThan,
  type Resolved,
  runningTurn,
  type TurnView,
  type View,
} from "./view.ts";
export { actionProblem, endedText, endingText, inputText, receiptProblem } from "./words.ts";
