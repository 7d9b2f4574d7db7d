import type { Log } from "../observe/log.ts";
import { type Answer, failureAnswer, write } from "./answer.ts";
import { BodyAborted, type IncomingBody, incomingBody } from "./body.ts";
import type { Wire } from "./outbox.ts";
import { type ArrivedRequest, readRequest } from "./request.ts";
import type { HttpRequest, HttpResponse } from "./uws.ts";

/** A response that stays open. Valid until `end`, `cut`, or until its client has gone. */
export type StreamWire = Wire & {
  /** Ends it in order: what was handed over is still sent. */
  end(): void;
  /** Cuts the connection. */
  cut(): void;
};

export type StreamEnds = {
  /** The network has taken something. */
  drained(): void;
  /** The client has gone: the wire must not be touched any more. */
  gone(): void;
};

/** A stream that is ready to be opened: exactly one of the two is called, or `abandon` after an `open` that threw. */
export type Opening = {
  open(wire: StreamWire): StreamEnds;
  /** There will be no stream: its client went away before, or it could not be opened. */
  abandon(): void;
};

export type StreamHandler = (request: ArrivedRequest, body: IncomingBody) => Promise<Answer | Opening>;

/**
 * Runs a handler that answers with server-sent events, or with an ordinary answer when there is nothing to stream. The
 * same care as in `receiving`: an abort is always listened for, and a response whose client has gone is never touched.
 */
export function streaming(log: Log, handle: StreamHandler): (res: HttpResponse, req: HttpRequest) => void {
  return (res, req) => {
    const request = readRequest(req);
    const body = incomingBody(res, req);
    let gone = false;
    let isStream = false;
    let ends: StreamEnds | undefined;
    res.onAborted(() => {
      gone = true;
      body.aborted();
      ends?.gone();
    });
    void handle(request, body)
      .catch((error: unknown) => (error instanceof BodyAborted ? undefined : failureAnswer(error, log, request.route)))
      .then((result) => {
        body.discard();
        if (result === undefined) return;
        if (!("open" in result)) {
          if (!gone) res.cork(() => write(res, result));
        } else if (gone) result.abandon();
        else {
          isStream = true;
          ends = openStream(res, result);
          if (gone) ends.gone();
        }
      })
      .catch((err: unknown) => {
        log.error("answer not written", { route: request.route, err });
        // A response that was begun and can't go on would keep its client waiting for ever. A stream sees to its own.
        if (!gone && !isStream) res.close();
      });
  };
}

const HEADERS = [
  ["Content-Type", "text/event-stream"],
  ["Cache-Control", "no-store"],
  // Some proxies collect a response before they pass it on unless they are told not to.
  ["X-Accel-Buffering", "no"],
] as const;

/** When it throws, the response is closed and the opening abandoned. */
function openStream(res: HttpResponse, opening: Opening): StreamEnds {
  let isOver = false;
  let isStuck = false;
  const wire: StreamWire = {
    send(frame) {
      if (isOver) return;
      res.cork(() => {
        isStuck = !res.write(frame);
      });
    },
    // The native response does not say how much waits, only that something does.
    buffered: () => (isStuck ? Number.POSITIVE_INFINITY : 0),
    end() {
      if (isOver) return;
      isOver = true;
      res.cork(() => res.end());
    },
    cut() {
      if (isOver) return;
      isOver = true;
      res.close();
    },
  };
  try {
    res.onWritable(() => {
      isStuck = false;
      // Not now: what is written inside this handler and does not fit into the network's buffer would never be sent.
      setImmediate(() => {
        if (!isOver) ends.drained();
      });
      return true;
    });
    res.cork(() => {
      res.writeStatus("200 OK");
      for (const [name, value] of HEADERS) res.writeHeader(name, value);
      // Headers leave with the first byte of the body.
      res.write(": open\n\n");
    });
    const ends = opening.open(wire);
    return {
      drained: ends.drained,
      gone() {
        if (isOver) return;
        isOver = true;
        ends.gone();
      },
    };
  } catch (error) {
    try {
      wire.cut();
    } finally {
      opening.abandon();
    }
    throw error;
  }
}
