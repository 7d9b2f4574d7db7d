import {
  BedrockRuntimeClient,
  ConverseStreamCommand,
  type ConverseStreamOutput,
} from "@aws-sdk/client-bedrock-runtime";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import { BEDROCK_PROJECTOR, projectBedrock, type ThinkingStyle } from "../../machines/conversation/project-bedrock.ts";
import type { CallId } from "../../machines/ids.ts";
import type { Model, ModelRequest } from "../../machines/model.ts";
import { bedrockAnswerReader } from "./bedrock-answer.ts";
import { failureOfError, type Phase } from "./bedrock-errors.ts";
import { ModelUnavailable } from "./failures.ts";
import type { Notice } from "./notices.ts";
import { realTimers, type Timers } from "./timers.ts";

export type BedrockOptions = {
  /** The profile's name, for people. Never decides anything. */
  readonly name: string;
  readonly region: string;
  /** Absent: the region's own. */
  readonly endpoint?: string;
  /** Model id, inference profile id or ARN. */
  readonly model: string;
  /** Context window in tokens. */
  readonly window: number;
  /** Silence of the server that ends a call, in milliseconds. */
  readonly stallMs: number;
  /** Absent: the SDK finds them itself (environment, files, the machine's role). */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  readonly newCallId: () => CallId;
  readonly notice?: Notice;
  readonly timers?: Timers;
};

const ISSUER = "bedrock-claude";
const CONNECT_MS = 10_000;

/**
 * A Claude on Bedrock through Amazon's SDK. One try: no retry, no failover. Its streams throw `ModelFailure`, or the
 * signal's reason once that aborted.
 */
export function bedrockModel(options: BedrockOptions): Model {
  const { name, region, endpoint, model, window, stallMs, credentials, newCallId } = options;
  const { timers = realTimers, notice = () => {} } = options;
  // Made at the first call: a profile that is never asked costs nothing.
  let made: BedrockRuntimeClient | undefined;
  const client = () =>
    (made ??= new BedrockRuntimeClient({
      region,
      ...(endpoint !== undefined && { endpoint }),
      // Without the preference a bearer token of the environment would go to whoever the endpoint is.
      ...(credentials && { credentials, authSchemePreference: ["aws.auth#sigv4"] }),
      maxAttempts: 1,
      // HTTP/1.1 for every endpoint, since a plain one can't speak HTTP/2; its pool must not make streams wait.
      requestHandler: new NodeHttpHandler({
        connectionTimeout: CONNECT_MS,
        httpAgent: { keepAlive: true, maxSockets: Number.POSITIVE_INFINITY },
        httpsAgent: { keepAlive: true, maxSockets: Number.POSITIVE_INFINITY },
      }),
    }));
  const style = thinkingStyle(model);

  async function open(request: ModelRequest, signal: AbortSignal): Promise<AsyncIterator<ConverseStreamOutput>> {
    const { system, messages, toolConfig, inferenceConfig, additionalModelRequestFields, warnings } = projectBedrock(
      request,
      ISSUER,
      style,
    );
    for (const warning of warnings) notice(warning, name);
    const command = new ConverseStreamCommand({
      modelId: model,
      system: [...system],
      messages: [...messages],
      inferenceConfig,
      ...(toolConfig && { toolConfig }),
      ...(additionalModelRequestFields && { additionalModelRequestFields }),
    });
    const { stream } = await client().send(command, { abortSignal: signal });
    if (stream === undefined) throw new ModelUnavailable("truncated_stream");
    return stream[Symbol.asyncIterator]();
  }

  return {
    name,
    issuer: ISSUER,
    window,
    projector: BEDROCK_PROJECTOR,
    async *stream(request, signal) {
      signal.throwIfAborted();
      const answer = bedrockAnswerReader({
        tools: request.tools,
        newCallId,
        notice: (each) => notice(each, name),
      });
      const call = guarded(signal, timers, stallMs);
      try {
        const events = await call.wait(open(request, call.signal), "opening");
        for (;;) {
          const { done, value } = await call.wait(events.next(), "streaming");
          if (done === true) break;
          yield* answer.read(value);
        }
        yield { type: "end", ...answer.end(), profile: name, issuer: ISSUER };
      } finally {
        call.end();
      }
    },
  };
}

/** One call under guard: aborted by the caller, by its end, or by a silence of the server. */
function guarded(outer: AbortSignal, timers: Timers, stallMs: number) {
  const inner = new AbortController();
  const onAbort = () => inner.abort(outer.reason);
  outer.addEventListener("abort", onAbort, { once: true });
  return {
    signal: inner.signal,
    /** Waits for the server. The clock runs only in here: a slow reader is no stall. */
    async wait<T>(answer: Promise<T>, phase: Phase): Promise<T> {
      let release = () => {};
      const ends = new Promise<never>((_, reject) => {
        const refuse = () => reject(outer.reason);
        outer.addEventListener("abort", refuse, { once: true });
        const disarm = timers.after(stallMs, () => reject(new ModelUnavailable("stalled")));
        release = () => {
          disarm();
          outer.removeEventListener("abort", refuse);
        };
      });
      try {
        return await Promise.race([answer, ends]);
      } catch (error) {
        outer.throwIfAborted();
        throw failureOfError(error, phase);
      } finally {
        release();
      }
    },
    /** The SDK does not close the connection of a stream that is left early: the abort does. */
    end() {
      outer.removeEventListener("abort", onAbort);
      inner.abort();
    },
  };
}

/** From version 4.6 on a Claude takes no budget. An ARN that hides the model is told a budget, as most are. */
export function thinkingStyle(model: string): ThinkingStyle {
  return /claude-[a-z]+-(?:4-(?:[6-9]|\d\d)|[5-9])(?!\d)/.test(model) ? "adaptive" : "budget";
}
