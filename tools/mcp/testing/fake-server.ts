import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { CallToolRequestSchema, ListToolsRequestSchema, McpError } from "@modelcontextprotocol/sdk/types.js";

/** What the server saw of one request. */
export type Seen = {
  readonly method: string;
  /** The JSON-RPC method; empty for GET and DELETE. */
  readonly rpc: string;
  readonly tool?: string;
  readonly cookie: string;
  readonly session: string;
  readonly body: Readonly<Record<string, unknown>>;
};

/** Sends one progress notice of a running call; does nothing when the client did not ask for them. */
export type Report = (progress: { progress: number; total?: number; message?: string }) => Promise<void>;

export type FakeTool = {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema?: Record<string, unknown>;
  readonly outputSchema?: Record<string, unknown>;
  readonly annotations?: Record<string, unknown>;
  readonly _meta?: Record<string, unknown>;
  /** The result of `tools/call`; may throw an `McpError`. */
  readonly run?: (args: Readonly<Record<string, unknown>>, seen: Seen, signal: AbortSignal, report: Report) => unknown;
};

/** Answers a request instead of MCP, when it returns true. */
export type Fault = (seen: Seen, response: ServerResponse, request: IncomingMessage) => boolean;

/** A real MCP server (the SDK's) on 127.0.0.1 that can be made to misbehave. Stop it in the test's `finally` or `afterEach`. */
export class FakeMcpServer {
  readonly seen: Seen[] = [];
  tools: (seen: Seen) => readonly FakeTool[];
  fault: Fault = () => false;
  /** JSON answers instead of event streams. */
  json = false;
  /** Pages of tools/list by cursor, instead of all tools at once. */
  pages: ((cursor: string | undefined) => { tools: readonly FakeTool[]; nextCursor?: string }) | undefined;
  readonly #sessions = new Map<
    string,
    { readonly server: Server; readonly transport: StreamableHTTPServerTransport }
  >();
  readonly #http = createServer((request, response) => void this.#serve(request, response));

  private constructor(tools: (seen: Seen) => readonly FakeTool[]) {
    this.tools = tools;
  }

  static async start(tools: readonly FakeTool[] | ((seen: Seen) => readonly FakeTool[])): Promise<FakeMcpServer> {
    const fake = new FakeMcpServer(typeof tools === "function" ? tools : () => tools);
    await new Promise<void>((resolve) => fake.#http.listen(0, "127.0.0.1", resolve));
    return fake;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}/mcp`;
  }

  /** JSON-RPC methods (with the tool's name) in the order in which they came; without the ever-present handshake notice. */
  get calls(): readonly string[] {
    return this.seen
      .filter(({ rpc }) => rpc !== "")
      .map(({ rpc, tool }) => (tool === undefined ? rpc : `${rpc} ${tool}`));
  }

  /** Forgets every MCP session: the next request with one of their ids gets a 404. */
  async forget(): Promise<void> {
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    await Promise.all(sessions.map(({ transport }) => transport.close()));
  }

  /** Forgets one session by its id, leaving its open answers alone. */
  forgetOne(session: string): void {
    this.#sessions.delete(session);
  }

  async announceTools(): Promise<void> {
    for (const { server } of this.#sessions.values()) await server.sendToolListChanged();
  }

  async stop(): Promise<void> {
    await this.forget();
    const closed = new Promise((resolve) => this.#http.close(resolve));
    this.#http.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const body = (text === "" ? {} : JSON.parse(text)) as Record<string, unknown>;
    const params = (body["params"] ?? {}) as Record<string, unknown>;
    const seen: Seen = {
      method: request.method ?? "",
      rpc: String(body["method"] ?? ""),
      ...(body["method"] === "tools/call" ? { tool: String(params["name"]) } : {}),
      cookie: String(request.headers.cookie ?? ""),
      session: String(request.headers["mcp-session-id"] ?? ""),
      body,
    };
    this.seen.push(seen);
    if (this.fault(seen, response, request)) return;

    const known = this.#sessions.get(seen.session);
    if (seen.session !== "" && known === undefined) {
      response.writeHead(404).end();
      return;
    }
    const { transport } = known ?? (await this.#open(seen));
    await transport.handleRequest(request, response, text === "" ? undefined : body);
  }

  async #open(opening: Seen) {
    const server = new Server({ name: "fake", version: "1" }, { capabilities: { tools: { listChanged: true } } });
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      enableJsonResponse: this.json,
      onsessioninitialized: (id) => void this.#sessions.set(id, { server, transport }),
    });
    const asked = (method: string) =>
      this.seen.findLast(({ rpc, cookie }) => rpc === method && cookie === opening.cookie) ?? opening;
    server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
      if (this.pages !== undefined) {
        const { tools, ...rest } = this.pages(params?.cursor);
        return { tools: tools.map(declared), ...rest } as never;
      }
      return { tools: this.tools(asked("tools/list")).map(declared) } as never;
    });
    server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
      const { signal, sessionId, requestInfo, sendNotification } = extra;
      const progressToken = params._meta?.progressToken;
      const report: Report = async (progress) => {
        if (progressToken === undefined) return;
        await sendNotification({ method: "notifications/progress", params: { ...progress, progressToken } });
      };
      const cookie = String(requestInfo?.headers["cookie"] ?? "");
      const seen: Seen = {
        method: "POST",
        rpc: "tools/call",
        tool: params.name,
        cookie,
        session: sessionId ?? "",
        body: {},
      };
      const tool = this.tools(seen).find(({ name }) => name === params.name);
      if (tool === undefined) throw new McpError(-32_601, "Unknown tool");
      return (await tool.run?.(params.arguments ?? {}, seen, signal, report)) as never;
    });
    await server.connect(transport as Transport);
    return { server, transport };
  }
}

const declared = ({ run: _, inputSchema, ...rest }: FakeTool) => ({
  ...rest,
  inputSchema: inputSchema ?? { type: "object" },
});
