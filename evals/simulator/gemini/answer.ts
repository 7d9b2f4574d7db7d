import type { ServerResponse } from "node:http";
import { never } from "../../../machines/failure.ts";
import { decide } from "../brain/brain.ts";
import { frame, type Pause, untilAborted, write } from "../delivery.ts";
import { type Knobs, takeFault } from "../knobs.ts";
import { events, type GeminiEvent, merged } from "./events.ts";
import { type RuleId, refusalOf } from "./rules/all.ts";
import type { Signer } from "./signatures.ts";
import { conversationOf } from "./translate.ts";
import { parseRequest } from "./wire.ts";

export type GeminiCall = { readonly model: string; readonly streaming: boolean; readonly body: string };

/** How the simulator dealt with one request. `rule` is the one that refused it, `fault` the knob that hit it. */
export type Outcome =
  | { readonly kind: "answered"; readonly calls: readonly string[] }
  | { readonly kind: "refused"; readonly rule: RuleId }
  | { readonly kind: "fault"; readonly fault: string }
  | { readonly kind: "abandoned" };

export type Effects = { readonly signer: Signer; readonly pause: Pause; readonly signal: AbortSignal };

/** Answers one call of the Gemini API as the real service would, or as the knobs say. */
export async function answerGemini(
  call: GeminiCall,
  knobs: Knobs,
  response: ServerResponse,
  { signer, pause, signal }: Effects,
): Promise<Outcome> {
  if (knobs.missingModels.includes(call.model)) {
    sendError(response, 404, "models/… is not found for API version v1beta, or is not supported for this method.");
    return { kind: "fault", fault: "missing_model" };
  }
  const fault = takeFault(knobs, call.model);
  if (knobs.firstByteMs > 0) await pause(knobs.firstByteMs, signal);
  if (fault?.kind === "status") {
    sendError(response, fault.status, "The simulator was told to fail.");
    return { kind: "fault", fault: "status" };
  }
  if (fault?.kind === "hang" && fault.afterEvents === 0) {
    await untilAborted(signal);
    return { kind: "fault", fault: "hang" };
  }

  const parsed = parseRequest(jsonOf(call.body));
  if ("problem" in parsed) return refuse(response, "R0", parsed.problem);
  const refusal = refusalOf(parsed.request, signer);
  if (refusal !== undefined) return refuse(response, refusal.rule, refusal.message);

  const reply = decide(conversationOf(parsed.request));
  const all = events(reply, parsed.request, call.model, signer, knobs, fault);
  if (call.streaming) {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    response.flushHeaders();
    await sendEvents(all, knobs, response, { pause, signal });
    if (fault?.kind === "cut") await cutOff(fault.how, knobs, response);
    else if (fault?.kind === "hang") await untilAborted(signal);
    else response.end();
  } else {
    for (const { tokens } of all) await pauseFor(tokens, knobs, pause, signal);
    if (fault?.kind === "cut") response.destroy();
    else if (fault?.kind === "hang") await untilAborted(signal);
    else send(response, 200, merged(all));
  }
  return fault === undefined
    ? { kind: "answered", calls: reply.calls.map(({ tool }) => tool) }
    : { kind: "fault", fault: fault.kind };

  async function sendEvents(
    list: readonly GeminiEvent[],
    { cutBytes }: Knobs,
    to: ServerResponse,
    clock: { readonly pause: Pause; readonly signal: AbortSignal },
  ): Promise<void> {
    const limit = fault?.kind === "cut" || fault?.kind === "hang" ? fault.afterEvents : list.length;
    for (const [at, { chunk, tokens }] of list.slice(0, limit).entries()) {
      await pauseFor(tokens, knobs, clock.pause, clock.signal);
      await write(to, frame(chunk, knobs, at === list.length - 1), cutBytes);
    }
  }
}

async function pauseFor(tokens: number, knobs: Knobs, pause: Pause, signal: AbortSignal): Promise<void> {
  if (knobs.tokenMs > 0 && tokens > 0) await pause(knobs.tokenMs * tokens, signal);
}

async function cutOff(how: "reset" | "error_event" | "end", knobs: Knobs, response: ServerResponse): Promise<void> {
  switch (how) {
    case "reset":
      response.destroy();
      return;
    case "error_event":
      await write(response, frame(errorBody(503, "The simulator was told to fail."), knobs, true), knobs.cutBytes);
      response.end();
      return;
    case "end":
      response.end();
      return;
    default:
      never(how);
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // parseRequest says what is wrong with "nothing"
  }
}

function refuse(response: ServerResponse, rule: RuleId, message: string): Outcome {
  sendError(response, 400, `${message} [${rule}]`);
  return { kind: "refused", rule };
}

const STATUS_NAMES: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  408: "DEADLINE_EXCEEDED",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};

const errorBody = (code: number, message: string) => ({
  error: { code, message, status: STATUS_NAMES[code] ?? "UNKNOWN" },
});

/** Google's error JSON. */
export function sendError(response: ServerResponse, code: number, message: string): void {
  send(response, code, errorBody(code, message));
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json; charset=UTF-8" }).end(JSON.stringify(body));
}
