import type { Signal } from "../../machines/protocol/signals.ts";
import type { AguiEvent } from "../agui/events.ts";
import { RunEvents, type RunFacts } from "../agui/run-events.ts";
import type { Attachment, Caller } from "../sessions/conversations.ts";
import type { StreamEnds, StreamWire } from "./event-stream.ts";
import { startHeartbeat } from "./heartbeat.ts";
import { watchLogin } from "./login-watch.ts";
import { createOutbox, type Packing } from "./outbox.ts";
import type { RunSink } from "./run-sink.ts";
import { type GatewayServices, HEARTBEAT_AFTER, LOGIN_FRESH, LOGIN_RECHECK } from "./services.ts";
import type { Timers } from "./timers.ts";

/** Events as server-sent events. Pieces of one message that wait are merged. */
export const eventPacking: Packing<AguiEvent> = {
  encode: (event) => `data: ${JSON.stringify(event)}\n\n`,
  merge(first, second) {
    if (!isPiece(first) || !isPiece(second)) return undefined;
    if (first.type !== second.type || first.messageId !== second.messageId) return undefined;
    return { item: { ...second, delta: first.delta + second.delta }, grownBy: Buffer.byteLength(second.delta) };
  },
};

type Piece = Extract<AguiEvent, { readonly delta: string }>;
const isPiece = (event: AguiEvent): event is Piece =>
  event.type === "TEXT_MESSAGE_CONTENT" || event.type === "REASONING_MESSAGE_CONTENT";

/** What a run was accepted with, and how it goes on. */
export type AcceptedRun = {
  readonly facts: RunFacts;
  readonly caller: Caller;
  readonly attachment: Attachment;
  readonly sink: RunSink;
  /** Signals in the sink that came before the turn was known. */
  readonly known: number;
  /** Says what there is already; may end the run at once. */
  readonly begin: (events: RunEvents) => void;
};

/** A run that is being told, as the gateway sees it. */
export interface RunStream {
  /** The server stops: the run ends here in order, its turn goes on elsewhere. */
  drain(): void;
}

const ENDINGS: Readonly<Record<number, readonly [code: string, message: string]>> = {
  1000: ["not_found", "the conversation was erased"],
  1012: ["draining", "the server restarts; post this run again in a moment to go on with it"],
  4401: ["auth_expired", "the login ended; log in again and post this run again"],
  4403: ["not_found", "there is no such conversation"],
};
const UNKNOWN_ENDING = ["unavailable", "the connection to the conversation was lost; post this run again"] as const;

/**
 * Tells one run over one response, in `streams` while it lasts. A client that goes away detaches and stops nothing. A
 * fault of the telling ends this stream alone: never the session that is told of, or the process whose timer it was.
 */
export function tellRun(
  wire: StreamWire,
  run: AcceptedRun,
  { authenticate, limits, log }: Pick<GatewayServices, "authenticate" | "limits" | "log">,
  timers: Timers,
  streams: Set<RunStream>,
): StreamEnds {
  const outbox = createOutbox(wire, limits.send_buffer_bytes, eventPacking);
  let isOpen = true;
  let isEnding = false;
  const events = new RunEvents(run.facts, push);
  const heartbeat = startHeartbeat({
    timers,
    beatAfter: HEARTBEAT_AFTER,
    // Nothing is heard of the client of a response.
    silenceLimit: Number.POSITIVE_INFINITY,
    beat: guarded(() => {
      heartbeat.sent();
      if (outbox.held() === 0 && wire.buffered() === 0) wire.send(": heartbeat\n\n");
    }),
    silent() {},
  });
  const login = watchLogin({
    timers,
    authenticate,
    caller: run.caller,
    recheckAfter: LOGIN_RECHECK,
    freshFor: LOGIN_FRESH,
    changed: guarded((caller) => run.attachment.refresh(caller)),
    ended: (why) => end(why === "expired" ? 4401 : 4403),
  });

  const end = guarded(endWith);
  const stream: RunStream = { drain: () => end(1012) };
  streams.add(stream);

  guarded(() => {
    run.begin(events);
    run.sink.release(run.known, (signal) => events.hear(signal), guarded(hear), end);
    finishIfDone();
  })();
  return {
    drained: guarded(() => {
      outbox.drained();
      finishIfDone();
    }),
    gone: release,
  };

  /** Does nothing any more once the stream is over, and ends it when it fails. */
  function guarded<Given extends readonly unknown[]>(act: (...given: Given) => void): (...given: Given) => void {
    return (...given) => {
      if (!isOpen) return;
      try {
        act(...given);
      } catch (err) {
        log.error("run not told", { session_id: run.facts.sessionId, turn_id: run.facts.turnId, err });
        giveUp();
      }
    };
  }

  function hear(signal: Signal): void {
    events.hear(signal);
    if (isOpen && signal.kind === "auth_expired") void login.ask();
    // Live only: what was held may tell of a sleep from which this run's command woke the session.
    if (signal.kind === "state_changed" && signal.data.status === "hibernated") events.asleep();
  }

  function push(event: AguiEvent): void {
    if (!isOpen) return;
    heartbeat.sent();
    if (!outbox.push(event)) giveUp();
    else if (event.type === "RUN_FINISHED" || event.type === "RUN_ERROR") {
      isEnding = true;
      finishIfDone();
    }
  }

  function endWith(code: number): void {
    const [name, message] = ENDINGS[code] ?? UNKNOWN_ENDING;
    events.fail(name, message);
  }

  /** The last event has to leave before the response ends. */
  function finishIfDone(): void {
    if (!isOpen || !isEnding || outbox.held() > 0) return;
    release();
    wire.end();
  }

  /** Too slow, or a fault. */
  function giveUp(): void {
    release();
    wire.cut();
  }

  function release(): void {
    if (!isOpen) return;
    isOpen = false;
    heartbeat.stop();
    login.stop();
    streams.delete(stream);
    run.attachment.detach();
  }
}
