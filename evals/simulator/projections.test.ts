import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import type { AssistantEntry, Entry } from "../../machines/conversation/entries.ts";
import { projectBedrock } from "../../machines/conversation/project-bedrock.ts";
import { projectGemini } from "../../machines/conversation/project-gemini.ts";
import { callId, turnId } from "../../machines/ids.ts";
import type { Model, ModelRequest, ToolDeclaration } from "../../machines/model.ts";
import { simulatedRoutes } from "../../runtime/model-routes.ts";
import { modelsOf } from "../../runtime/models/profiles.ts";
import { converseRefusal } from "./converse/rules/all.ts";
import { converseSigner } from "./converse/signatures.ts";
import { parseConverse } from "./converse/wire.ts";
import { refusalOf } from "./gemini/rules/all.ts";
import { signer } from "./gemini/signatures.ts";
import { parseRequest } from "./gemini/wire.ts";
import { type Simulator, type SimulatorRecord, startSimulator } from "./simulator.ts";
import { requests } from "./testing/histories.ts";

const runs = Number(process.env["PROJECTION_RUNS"] ?? 2_000);
const seed = Number(process.env["PROJECTION_SEED"] ?? Date.now() % 2 ** 31);
const pens = { gemini: signer(1), claude: converseSigner(1) };

/** As the SDKs write it: bytes in base64, nothing that is undefined. */
const onTheWire = (body: object): string =>
  JSON.stringify(body, (_key, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value,
  );

function geminiBody(request: ModelRequest): string {
  const { systemInstruction, contents, tools, generation } = projectGemini(request, "gemini-api");
  return onTheWire({ systemInstruction, contents, tools, generationConfig: generation });
}
function geminiRefusal(body: string): unknown {
  const parsed = parseRequest(JSON.parse(body));
  return "problem" in parsed ? parsed.problem : refusalOf(parsed.request, pens.gemini);
}

function converseBody(request: ModelRequest): string {
  const { projector: _, warnings: __, ...body } = projectBedrock(request, "bedrock-claude");
  return onTheWire(body);
}
function converseProblem(body: string): unknown {
  const parsed = parseConverse(JSON.parse(body));
  return "problem" in parsed ? parsed.problem : converseRefusal(parsed.request, pens.claude);
}

test(`[C-02] [A-12] [B-03] ${runs} random histories (seed ${seed}): both strict rules accept every projection, made twice alike`, {
  timeout: 20_000 + runs * 20,
}, () => {
  process.stdout.write(`projections: ${runs} histories, seed ${seed} (PROJECTION_SEED, PROJECTION_RUNS)\n`);
  fc.assert(
    fc.property(requests(pens), (request) => {
      const before = JSON.stringify(request);
      for (const [bodyOf, refusal] of [
        [geminiBody, geminiRefusal],
        [converseBody, converseProblem],
      ] as const) {
        const body = bodyOf(request);
        expect(refusal(body)).toBeUndefined();
        expect(bodyOf(request)).toBe(body);
      }
      expect(JSON.stringify(request)).toBe(before);
    }),
    { numRuns: runs, seed },
  );
});

const running: Simulator[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((simulator) => simulator.close()));
});

const TOOLS: readonly ToolDeclaration[] = [
  {
    name: "interaction_check",
    description: "Checks.",
    inputSchema: {
      type: "object",
      properties: { items: { type: "array", items: { type: "string" } } },
      required: ["items"],
    },
  },
  {
    name: "lab_tests",
    description: "Finds.",
    inputSchema: { type: "object", properties: { query: { type: "string" } } },
  },
];
const TURN = turnId("00000000-0000-4000-8000-000000000001");

/** Asks until the model has answered in words; gives the history with what it said. */
async function turn(model: Model, history: readonly Entry[], question: string): Promise<readonly Entry[]> {
  let entries: readonly Entry[] = [...history, { kind: "user", turnId: TURN, text: question }];
  for (let step = 1; step < 9; step += 1) {
    const asked = { system: "Be brief.", tools: TOOLS, entries, maxOutputTokens: 4_096, thinking: true };
    for await (const event of model.stream(asked, new AbortController().signal)) {
      if (event.type !== "end") continue;
      const { parts, issuer, profile } = event;
      const said: AssistantEntry = { kind: "assistant", turnId: TURN, step, issuer, profile, parts };
      const results = parts.flatMap((part): readonly Entry[] =>
        part.kind === "tool_call"
          ? [
              {
                kind: "tool_result",
                turnId: TURN,
                callId: part.call.callId,
                name: part.call.name,
                outcome: "ok",
                text: '{"findings":[],"labs":[]}',
              },
            ]
          : [],
      );
      entries = [...entries, said, ...results];
      if (results.length === 0) return entries;
    }
  }
  throw new RangeError("the model called tools for ever");
}

/** Everything opaque that an issuer signed in `entries`, in order. */
const marksOf = (entries: readonly Entry[], issuer: string): readonly string[] =>
  entries.flatMap((entry) =>
    entry.kind === "assistant" && entry.issuer === issuer
      ? entry.parts.flatMap((part) =>
          [part.signature ?? [], part.kind === "reasoning" ? (part.redacted ?? []) : []].flat(),
        )
      : [],
  );

describe("a conversation over both wires", () => {
  test("[A-05] [B-07] [B-08] the provider changes every turn, 30 turns with tools and thinking: nothing is refused or lost", {
    timeout: 60_000,
  }, async () => {
    const records: SimulatorRecord[] = [];
    const simulator = await startSimulator({ log: (record) => records.push(record), knobs: { redactedEvery: 4 } });
    running.push(simulator);
    let made = 0;
    const notices: unknown[] = [];
    const models = modelsOf(simulatedRoutes(simulator.url), {
      newCallId: () => callId(`our-${++made}`),
      notice: (notice) => notices.push(notice),
      onFailure: (failure) => notices.push(failure.code),
    });
    let history: readonly Entry[] = [];
    for (let at = 0; at < 30; at += 1) {
      const model = models[at % 2] ?? models[0];
      const known = history;
      const requestsBefore = simulator.requests().length;
      history = await turn(model, history, `Does glimmerroot${at} interact with zorvane${at}?`);
      const body = JSON.stringify(simulator.requests()[requestsBefore]?.body);
      const marks = marksOf(known, model.issuer);
      expect(marks.filter((mark) => !body.includes(JSON.stringify(mark)))).toEqual([]);
      const others = marksOf(known, model.issuer === "bedrock-claude" ? "gemini-api" : "bedrock-claude");
      expect(others.filter((mark) => body.includes(mark))).toEqual([]);
    }
    expect(notices).toEqual([]);
    expect(records.filter(({ outcome }) => outcome.kind !== "answered")).toEqual([]);
    const assistants = history.filter((entry) => entry.kind === "assistant");
    expect(assistants.length).toBeGreaterThanOrEqual(60);
    expect(marksOf(history, "gemini-api").length).toBeGreaterThanOrEqual(30);
    expect(marksOf(history, "bedrock-claude").length).toBeGreaterThanOrEqual(30);
  });
});
