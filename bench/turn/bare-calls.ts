import { type Content, type GenerateContentConfig, GoogleGenAI } from "@google/genai";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { BenchFailed } from "../harness.ts";

/** A request as the simulator got it from the runtime. */
export type Sent = {
  readonly contents: readonly Content[];
  readonly systemInstruction?: Content;
  readonly tools?: GenerateContentConfig["tools"];
  readonly generationConfig?: Partial<GenerateContentConfig>;
};

export type BareCalls = {
  readonly models: number;
  readonly tools: number;
  run(): Promise<void>;
  close(): Promise<void>;
};

type ToolCall = { readonly name: string; readonly args: Record<string, unknown> };

/**
 * The calls of one turn as a program without a runtime would make them: the same requests through the same SDKs, in
 * the same order. Between two model calls come the MCP calls that the first one asked for.
 */
export async function bareCalls(
  sent: readonly Sent[],
  at: { readonly model: string; readonly modelUrl: string; readonly platformUrl: string; readonly cookie: string },
): Promise<BareCalls> {
  const sdk = new GoogleGenAI({
    apiKey: "simulated",
    vertexai: false,
    apiVersion: "v1beta",
    httpOptions: { baseUrl: at.modelUrl },
  });
  const client = new Client({ name: "dormouse-bench", version: "0.1.0" });
  const url = new URL("/mcp", at.platformUrl);
  const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers: { cookie: at.cookie } } });
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  const served = new Set((await client.listTools()).tools.map(({ name }) => name));
  const steps = sent.map((request, index) => {
    const next = sent[index + 1];
    const calls = next === undefined ? [] : newCalls(request, next).filter(({ name }) => served.has(name));
    return { request, calls };
  });

  return {
    models: steps.length,
    tools: steps.reduce((sum, { calls }) => sum + calls.length, 0),
    async run() {
      for (const { request, calls } of steps) {
        await ask(sdk, at.model, request);
        await Promise.all(calls.map((call) => callTool(client, call)));
      }
    },
    close: () => client.close(),
  };
}

async function ask(sdk: GoogleGenAI, model: string, request: Sent): Promise<void> {
  const { contents, systemInstruction, tools, generationConfig } = request;
  const stream = await sdk.models.generateContentStream({
    model,
    contents: [...contents],
    config: {
      ...generationConfig,
      ...(systemInstruction && { systemInstruction }),
      ...(tools && { tools }),
      automaticFunctionCalling: { disable: true },
    },
  });
  let isFinished = false;
  for await (const chunk of stream) isFinished ||= chunk.candidates?.[0]?.finishReason !== undefined;
  if (!isFinished) throw new BenchFailed("a bare model call got no whole answer");
}

async function callTool(client: Client, { name, args }: ToolCall): Promise<void> {
  const result = await client.callTool({ name, arguments: args });
  if (result.isError) throw new BenchFailed(`a bare call of ${name} failed`);
}

/** What the second request answers that the first one did not have. */
function newCalls(first: Sent, second: Sent): readonly ToolCall[] {
  return second.contents
    .slice(first.contents.length)
    .flatMap((content) => content.parts ?? [])
    .flatMap(({ functionCall }) =>
      functionCall?.name === undefined ? [] : [{ name: functionCall.name, args: functionCall.args ?? {} }],
    );
}
