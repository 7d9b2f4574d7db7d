/** The reference platform in this process, behind a front that can refuse, hold, swallow and go away. */
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { callTool, type TestPlatform, testPlatform } from "../../tools/platform/testing/platform.ts";
import { login } from "./process.ts";

export type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string | Buffer;
};
export type Call = {
  readonly path: string;
  /** Name of the tool that is called, when a tool is. */
  readonly tool: string | undefined;
  readonly body: string;
};
/** What the front does with a call: undefined passes it on, "silence" leaves it without an answer for ever. */
export type Intercept = (call: Call, pass: () => Promise<Answer>) => Promise<Answer | "silence"> | undefined;

export type PlatformFront = {
  readonly url: string;
  /** Tools that were called, in order. */
  readonly calls: string[];
  intercept: Intercept;
  cookieOf(user: string): Promise<string>;
  /** The patient's plans as the platform holds them. */
  plansOf(user: string, patientId: string): Promise<readonly { readonly id: string }[]>;
  /** Cuts every connection and refuses new ones until `up`. */
  down(): Promise<void>;
  up(): Promise<void>;
  close(): Promise<void>;
};

export async function platformFront(): Promise<PlatformFront> {
  const behind: TestPlatform = await testPlatform();
  const platform = await behind.start({ now: Date.now });
  const target = new URL(platform.url);
  const calls: string[] = [];

  const server = createServer((incoming, response) => {
    void serve(incoming, response).catch(() => response.destroy());
  });

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of incoming as AsyncIterable<Buffer>) pieces.push(piece);
    const body = Buffer.concat(pieces);
    const call: Call = { path: incoming.url ?? "/", tool: toolOf(body), body: body.toString("utf8") };
    if (call.tool !== undefined) calls.push(call.tool);
    const own = front.intercept(call, () => whole(incoming, body));
    if (own === undefined) return await stream(incoming, body, response);
    const answer = await own;
    if (answer !== "silence") response.writeHead(answer.status, answer.headers).end(answer.body);
  }

  async function forward(incoming: IncomingMessage, body: Buffer): Promise<IncomingMessage> {
    const { method, url: path, headers } = incoming;
    const outgoing = request({ host: target.hostname, port: target.port, method, path, headers, agent: false });
    outgoing.end(body);
    const drop = () => outgoing.destroy();
    incoming.socket.once("close", drop);
    outgoing.once("close", () => incoming.socket.off("close", drop));
    const [answer] = await once(outgoing, "response");
    return answer as IncomingMessage;
  }

  async function stream(incoming: IncomingMessage, body: Buffer, response: ServerResponse): Promise<void> {
    const answer = await forward(incoming, body);
    answer.once("error", () => response.destroy());
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    response.flushHeaders();
    answer.pipe(response);
  }

  async function whole(incoming: IncomingMessage, body: Buffer): Promise<Answer> {
    const answer = await forward(incoming, body);
    const pieces: Buffer[] = [];
    for await (const piece of answer as AsyncIterable<Buffer>) pieces.push(piece);
    const { "transfer-encoding": _, ...headers } = answer.headers;
    return { status: answer.statusCode ?? 502, headers, body: Buffer.concat(pieces) };
  }

  const listen = async (port: number) => {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  };
  const down = async () => {
    if (!server.listening) return;
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  };

  const port = await listen(0);
  const front: PlatformFront = {
    url: `http://127.0.0.1:${port}`,
    calls,
    intercept: () => undefined,
    cookieOf: (user) => login(platform.url, user),
    async plansOf(user, patientId) {
      const client = await behind.clientFor(platform.url, user);
      const { plans } = (await callTool(client, "treatment_plan_get", { patientId })) as { plans: { id: string }[] };
      return plans;
    },
    down,
    async up() {
      await listen(port);
    },
    async close() {
      await down();
      await behind.close();
    },
  };
  return front;
}

function toolOf(body: Buffer): string | undefined {
  try {
    const message = JSON.parse(body.toString("utf8")) as { method?: string; params?: { name?: string } };
    return message.method === "tools/call" ? message.params?.name : undefined;
  } catch {
    return undefined;
  }
}
