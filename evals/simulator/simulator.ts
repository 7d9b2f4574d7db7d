import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { answerConverse, type ConverseCall, type ConverseOutcome, type ConverseState } from "./converse/answer.ts";
import { converseSigner } from "./converse/signatures.ts";
import { promptCache } from "./converse/usage.ts";
import { type Pause, realPause } from "./delivery.ts";
import { answerGemini, type GeminiCall, type Outcome, sendError } from "./gemini/answer.ts";
import { signer } from "./gemini/signatures.ts";
import { DEFAULT_KNOBS, type Knobs, readKnobs } from "./knobs.ts";

/** One request as it came in, for tests. Credentials are replaced by a mark. */
export type ReceivedRequest = {
  readonly path: string;
  readonly model: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
};

/** What `log` gets after each request: no text of a conversation and no header. */
export type SimulatorRecord = {
  readonly model: string;
  readonly streaming: boolean;
  readonly outcome: Outcome | ConverseOutcome;
};

/** A request by the wire that it came over. */
type Call = ({ readonly wire: "gemini" } & GeminiCall) | ({ readonly wire: "converse" } & ConverseCall);

export type SimulatorOptions = {
  readonly host?: string;
  readonly port?: number;
  /** Signatures of one seed stay valid across restarts. */
  readonly seed?: number;
  readonly knobs?: Partial<Knobs>;
  readonly log?: (record: SimulatorRecord) => void;
  readonly pause?: Pause;
};

export type Simulator = {
  /** Base URL without a trailing slash; any path may follow it before `/v1beta` or `/model`. */
  readonly url: string;
  readonly knobs: Knobs;
  setKnobs(change: Partial<Knobs>): void;
  /** The last requests, oldest first. */
  requests(): readonly ReceivedRequest[];
  /** Drops what hangs, closes every connection and resolves when the port is free. */
  close(): Promise<void>;
};

const KEPT_REQUESTS = 200;
/** A longer text in a kept request is a file: only its length is remembered. */
const KEPT_CHARACTERS = 500_000;
const BODY_LIMIT = 32 * 1024 * 1024;
const ROUTE = /^(?<prefix>\/.*)?\/v1beta\/models\/(?<model>[^/:]+):(?<method>streamGenerateContent|generateContent)$/;
const CONVERSE_ROUTE = /^(?:\/.*)?\/model\/(?<model>[^/]+)\/(?<method>converse-stream|converse)$/;
const SECRET_HEADERS: ReadonlySet<string> = new Set([
  "authorization",
  "x-goog-api-key",
  "cookie",
  "cf-aig-authorization",
  "x-amz-security-token",
]);

/** Starts a model on loopback that speaks the Gemini wire and that of Bedrock's Converse. Rejects when the port is taken. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { host = "127.0.0.1", port = 0, seed = 1, log, pause = realPause } = options;
  const knobs: Knobs = { ...structuredClone(DEFAULT_KNOBS), ...options.knobs };
  const signatures = signer(seed);
  const converse: ConverseState = { signer: converseSigner(seed), cache: promptCache(), answered: 0 };
  const received: ReceivedRequest[] = [];
  const closing = new AbortController();

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      if (response.destroyed) return;
      if (response.headersSent) response.destroy();
      else sendError(response, 500, `The simulator broke: ${error instanceof Error ? error.name : "unknown"}`);
    });
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const signal = AbortSignal.any([gone.signal, closing.signal]);
    const url = new URL(request.url ?? "/", "http://simulator");
    const body = await bodyOf(request);
    if (url.pathname === "/simulator/knobs") return serveKnobs(request.method, body, response);
    const call = request.method === "POST" ? callOf(url, body) : undefined;
    if (call === undefined) {
      const served = "…/v1beta/models/{model}:generateContent and …/model/{model}/converse";
      return sendError(response, 404, `The simulator serves ${served}`);
    }
    const headers = headersOf(request);
    received.push({ path: `${url.pathname}${url.search}`, model: call.model, headers, body: parsedOr(body) });
    if (received.length > KEPT_REQUESTS) received.shift();

    const own = headers["x-sim-knobs"];
    const change = own === undefined ? {} : readKnobs(own);
    if (change === undefined) return sendError(response, 400, "x-sim-knobs holds no knobs of the simulator.");
    const effective = own === undefined ? knobs : { ...knobs, ...change };
    const answer =
      call.wire === "gemini"
        ? answerGemini(call, effective, response, { signer: signatures, pause, signal })
        : answerConverse(call, effective, response, { state: converse, pause, signal });
    const outcome = await answer.catch((error: unknown): Outcome => {
      if (signal.aborted) return { kind: "abandoned" };
      throw error;
    });
    log?.({ model: call.model, streaming: call.streaming, outcome });
  }

  function serveKnobs(method: string | undefined, body: string, response: ServerResponse): void {
    if (method === "PUT") {
      const change = readKnobs(body);
      if (change === undefined) {
        sendError(response, 400, "These are no knobs of the simulator.");
        return;
      }
      Object.assign(knobs, change);
    }
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(knobs));
  }

  await new Promise<void>((done, failed) => {
    server.once("error", failed);
    server.listen(port, host, done);
  });
  const address = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${address.port}`,
    knobs,
    setKnobs: (change) => void Object.assign(knobs, change),
    requests: () => [...received],
    close: () => {
      closing.abort();
      server.closeAllConnections();
      return new Promise((done, failed) => {
        server.close((error) => (error === undefined || closedAlready(error) ? done() : failed(error)));
      });
    },
  };
}

const closedAlready = (error: Error): boolean => "code" in error && error.code === "ERR_SERVER_NOT_RUNNING";

function callOf(url: URL, body: string): Call | undefined {
  const gemini = ROUTE.exec(url.pathname)?.groups;
  if (gemini !== undefined) {
    const streaming = gemini["method"] === "streamGenerateContent";
    return { wire: "gemini", model: decodeURIComponent(gemini["model"] ?? ""), streaming, body };
  }
  const converse = CONVERSE_ROUTE.exec(url.pathname)?.groups;
  if (converse === undefined) return undefined;
  const streaming = converse["method"] === "converse-stream";
  return { wire: "converse", model: decodeURIComponent(converse["model"] ?? ""), streaming, body };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > BODY_LIMIT) throw new RangeError("request body over 32 MiB");
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}

function headersOf(request: IncomingMessage): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [
      name,
      SECRET_HEADERS.has(name) ? "[given]" : Array.isArray(value) ? value.join(", ") : (value ?? ""),
    ]),
  );
}

function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text, (_, value) =>
      typeof value === "string" && value.length > KEPT_CHARACTERS ? `[${value.length} characters]` : value,
    );
  } catch {
    return null; // the answer tells the client; the ring only remembers that it was no JSON
  }
}
