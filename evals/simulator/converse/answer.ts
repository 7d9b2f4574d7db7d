import type { ServerResponse } from "node:http";
import { never } from "../../../machines/failure.ts";
import { decide } from "../brain/brain.ts";
import { type Pause, untilAborted, write } from "../delivery.ts";
import { type Fault, type Knobs, takeFault } from "../knobs.ts";
import { converseAnswer } from "./events.ts";
import { eventFrame, exceptionFrame } from "./framing.ts";
import { type ConverseRuleId, converseRefusal } from "./rules/all.ts";
import type { ConverseSigner } from "./signatures.ts";
import { converseConversation } from "./translate.ts";
import type { PromptCache } from "./usage.ts";
import { parseConverse } from "./wire.ts";

export type ConverseCall = { readonly model: string; readonly streaming: boolean; readonly body: string };

/** How the simulator dealt with one request. `rule` is the one that refused it, `fault` the knob that hit it. */
export type ConverseOutcome =
  | { readonly kind: "answered"; readonly calls: readonly string[] }
  | { readonly kind: "refused"; readonly rule: ConverseRuleId }
  | { readonly kind: "fault"; readonly fault: string }
  | { readonly kind: "abandoned" };

/** What the Converse half keeps between requests: nothing that an answer's words depend on. */
export type ConverseState = { readonly signer: ConverseSigner; readonly cache: PromptCache; answered: number };

type Clock = { readonly pause: Pause; readonly signal: AbortSignal };

/** Answers one call of Converse as the real service would, or as the knobs say. */
export async function answerConverse(
  call: ConverseCall,
  knobs: Knobs,
  response: ServerResponse,
  { state, pause, signal }: Clock & { readonly state: ConverseState },
): Promise<ConverseOutcome> {
  if (knobs.missingModels.includes(call.model)) {
    sendException(response, 404, "The simulator was told that this model does not exist.");
    return { kind: "fault", fault: "missing_model" };
  }
  const fault = takeFault(knobs, call.model);
  if (knobs.firstByteMs > 0) await pause(knobs.firstByteMs, signal);
  if (fault?.kind === "status") {
    sendException(response, fault.status, "The simulator was told to fail.");
    return { kind: "fault", fault: "status" };
  }
  if (fault?.kind === "hang" && fault.afterEvents === 0) {
    await untilAborted(signal);
    return { kind: "fault", fault: "hang" };
  }

  const parsed = parseConverse(jsonOf(call.body));
  if ("problem" in parsed) return refuse(response, "CM0", parsed.problem);
  const refusal = converseRefusal(parsed.request, state.signer);
  if (refusal !== undefined) return refuse(response, refusal.rule, refusal.message);

  const reply = decide(converseConversation(parsed.request));
  state.answered += 1;
  const answer = converseAnswer(reply, parsed.request, state, knobs, fault);
  if (call.streaming) {
    response.writeHead(200, { "content-type": "application/vnd.amazon.eventstream" });
    response.flushHeaders();
    const limit = fault?.kind === "cut" || fault?.kind === "hang" ? fault.afterEvents : answer.events.length;
    for (const { name, body, tokens } of answer.events.slice(0, limit)) {
      await pauseFor(tokens, knobs, { pause, signal });
      await write(response, eventFrame(name, body), knobs.cutBytes);
    }
    await endStream(fault, knobs, response, signal);
  } else {
    for (const { tokens } of answer.events) await pauseFor(tokens, knobs, { pause, signal });
    if (fault?.kind === "cut") response.destroy();
    else if (fault?.kind === "hang") await untilAborted(signal);
    else {
      const { content, stopReason, usage } = answer;
      send(response, 200, {
        output: { message: { role: "assistant", content } },
        stopReason,
        usage,
        metrics: { latencyMs: 1 },
      });
    }
  }
  return fault === undefined
    ? { kind: "answered", calls: reply.calls.map(({ tool }) => tool) }
    : { kind: "fault", fault: fault.kind };
}

async function endStream(
  fault: Fault | undefined,
  knobs: Knobs,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  if (fault?.kind === "hang") return untilAborted(signal);
  if (fault?.kind !== "cut") return void response.end();
  switch (fault.how) {
    case "reset":
      return void response.destroy();
    case "error_event": {
      const name = fault.exception ?? "serviceUnavailableException";
      await write(response, exceptionFrame(name, "The simulator was told to fail."), knobs.cutBytes);
      return void response.end();
    }
    case "end":
      return void response.end();
    default:
      return never(fault.how);
  }
}

async function pauseFor(tokens: number, { tokenMs }: Knobs, { pause, signal }: Clock): Promise<void> {
  if (tokenMs > 0 && tokens > 0) await pause(tokenMs * tokens, signal);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // parseConverse says what is wrong with "nothing"
  }
}

function refuse(response: ServerResponse, rule: ConverseRuleId, message: string): ConverseOutcome {
  sendException(response, 400, `${message} [${rule}]`);
  return { kind: "refused", rule };
}

const EXCEPTIONS: Readonly<Record<number, string>> = {
  400: "ValidationException",
  403: "AccessDeniedException",
  404: "ResourceNotFoundException",
  408: "ModelTimeoutException",
  424: "ModelErrorException",
  429: "ThrottlingException",
  500: "InternalServerException",
  503: "ServiceUnavailableException",
};

/** Amazon's error JSON, its class in a header. */
export function sendException(response: ServerResponse, status: number, message: string): void {
  const name = EXCEPTIONS[status] ?? "InternalServerException";
  send(response, status, { message }, { "x-amzn-errortype": name });
}

function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}
