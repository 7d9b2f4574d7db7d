import { createParser } from "eventsource-parser";
import { parsedJson } from "../../machines/conversation/json-values.ts";
import { ModelFailure, ModelUnavailable } from "./failures.ts";
import { bareCause, failureInEvent, failureOfStatus } from "./gemini-errors.ts";
import type { Timers } from "./timers.ts";

export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

export type TransportOptions = {
  readonly fetch: Fetch;
  readonly timers: Timers;
  readonly now: () => number;
  /** Without a byte for this long, the call has failed. */
  readonly stallMs: number;
  /** The SDK insists on a key; a gateway that holds its own must not see a made-up one. */
  readonly withoutKey: boolean;
};

/** One request under guard: aborted by the caller, or by a silence of its own. */
function guarded(outer: AbortSignal | null | undefined, timers: Timers, stallMs: number) {
  const inner = new AbortController();
  let stalled: ModelUnavailable | undefined;
  const onAbort = () => inner.abort(outer?.reason);
  if (outer?.aborted) onAbort();
  else outer?.addEventListener("abort", onAbort, { once: true });
  return {
    signal: inner.signal,
    release: () => outer?.removeEventListener("abort", onAbort),
    /** Waits for bytes. The clock runs only in here: a slow reader is no stall. */
    async wait<T>(bytes: Promise<T>, code: "unreachable" | "stream_error"): Promise<T> {
      let disarm = () => {};
      const silence = new Promise<never>((_, reject) => {
        disarm = timers.after(stallMs, () => {
          stalled = new ModelUnavailable("stalled");
          reject(stalled);
          inner.abort(stalled);
        });
      });
      try {
        return await Promise.race([bytes, silence]);
      } catch (error) {
        if (outer?.aborted) throw error;
        throw (
          stalled ?? (error instanceof ModelFailure ? error : new ModelUnavailable(code, { cause: bareCause(error) }))
        );
      } finally {
        disarm();
      }
    },
  };
}

type Guard = ReturnType<typeof guarded>;

/** Takes raw bytes, gives the JSON texts of whole events. Any cut, line end, comment or missing last line is fine. */
export function eventReader(): { feed(bytes: Uint8Array): readonly string[]; end(): readonly string[] } {
  const decoder = new TextDecoder();
  let events: string[] = [];
  let ended = false;
  const parser = createParser({
    onEvent({ data }) {
      if (data.trim() === "" || data.trim() === "[DONE]") return;
      const event = parsedJson(data);
      if (event === undefined) throw new ModelUnavailable(ended ? "truncated_stream" : "stream_error");
      const failure = failureInEvent(event);
      if (failure !== undefined) throw failure;
      // Between JSON tokens a line break is as good as a space; inside of texts there is none.
      events.push(data.replaceAll("\n", " "));
    },
  });
  const taken = () => {
    const whole = events;
    events = [];
    return whole;
  };
  return {
    feed(bytes) {
      parser.feed(decoder.decode(bytes, { stream: true }));
      return taken();
    },
    end() {
      ended = true;
      parser.feed(`${decoder.decode()}\n\n`);
      return taken();
    },
  };
}

const encoder = new TextEncoder();
const framed = (events: readonly string[]) => encoder.encode(events.map((event) => `data: ${event}\n\n`).join(""));

function reframed(source: ReadableStream<Uint8Array>, guard: Guard): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  const events = eventReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          for (;;) {
            const { done, value } = await guard.wait(reader.read(), "stream_error");
            const whole = done ? events.end() : events.feed(value);
            if (whole.length > 0) controller.enqueue(framed(whole));
            if (done) {
              guard.release();
              controller.close();
            }
            if (done || whole.length > 0) return;
          }
        } catch (error) {
          guard.release();
          // Events that came whole before the fault are lost with it; the answer is void anyway.
          await reader.cancel(error).catch(() => {});
          throw error;
        }
      },
      async cancel(reason) {
        guard.release();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** A body that came in one piece: one event, or a list of them. */
function piecewise(text: string): Uint8Array {
  const whole = parsedJson(text);
  if (whole === undefined) throw new ModelUnavailable("stream_error", { detail: text.slice(0, 4_000) });
  const failure = failureInEvent(whole);
  if (failure !== undefined) throw failure;
  return framed((Array.isArray(whole) ? whole : [whole]).map((event) => JSON.stringify(event)));
}

/**
 * The `fetch` for the SDK, whose own stream reader loses events that carry comments, names or ids, and the last one
 * without a blank line: it gets plain `data:` events, each whole. Failures are told as `ModelFailure`.
 */
export function geminiFetch({ fetch, timers, now, stallMs, withoutKey }: TransportOptions): Fetch {
  return async (input, init = {}) => {
    const headers = new Headers(init.headers);
    if (withoutKey) headers.delete("x-goog-api-key");
    const guard = guarded(init.signal, timers, stallMs);
    // A redirect would carry the key to another host.
    const request: RequestInit = { ...init, headers, redirect: "manual", signal: guard.signal };
    const response = await guard.wait(fetch(input, request), "unreachable");
    const { status } = response;
    if (!response.ok || response.body === null) {
      const text = response.body === null ? "" : await guard.wait(response.text(), "stream_error");
      guard.release();
      throw response.ok
        ? new ModelUnavailable("stream_error")
        : failureOfStatus(status, text, now(), response.headers.get("retry-after"));
    }
    const answerHeaders = { "content-type": "text/event-stream" };
    if (/\bjson\b/.test(response.headers.get("content-type") ?? "")) {
      const text = await guard.wait(response.text(), "stream_error");
      guard.release();
      return new Response(piecewise(text), { status, headers: answerHeaders });
    }
    return new Response(reframed(response.body, guard), { status, headers: answerHeaders });
  };
}
