import { expect, test } from "vitest";
import { Failure } from "../../machines/failure.ts";
import { observer, type RuntimeEvent } from "./events.ts";
import { createLog, type LogFields } from "./log.ts";
import { createMetrics } from "./metrics.ts";

class ToolBroke extends Failure {
  readonly code = "tool_broke";
  readonly retryable = true;
}

function memoryLog() {
  const lines: Record<string, unknown>[] = [];
  const destination = {
    write: (line: string) => void lines.push({ ...JSON.parse(line), time: "t" }),
    flush: (done?: () => void) => done?.(),
  };
  return { lines, log: createLog({ level: "info", destination }) };
}

test("a line holds known fields only, and no message of an error that is not ours", async () => {
  const { lines, log } = memoryLog();
  const unsafe = { session_id: "s", text: "MARKER", cookie: "MARKER", parts: { a: "MARKER" }, count: 3 };
  log.info("something happened", unsafe as unknown as LogFields);
  log.error("a failure", { err: new ToolBroke("the tool broke", { cause: new Error("MARKER\nMARKER at x:1:2") }) });
  log.error("a string was thrown", { err: "MARKER" });
  await log.flush();
  expect(lines).toEqual([
    { level: "info", time: "t", session_id: "s", count: 3, msg: "something happened" },
    {
      level: "error",
      time: "t",
      err: {
        type: "ToolBroke",
        code: "tool_broke",
        message: "the tool broke",
        cause: { type: "Error", code: "internal", stack: expect.arrayContaining([expect.stringMatching(/^at /)]) },
      },
      msg: "a failure",
    },
    { level: "error", time: "t", err: { type: "string" }, msg: "a string was thrown" },
  ]);
  expect(JSON.stringify(lines)).not.toContain("MARKER");
});

const session = { sessionId: "s" };
const turn = { ...session, turnId: "t" };
const events: readonly RuntimeEvent[] = [
  { ...session, type: "session.thawed", outcome: "thawed", ms: 4 },
  { ...turn, type: "turn.started", cause: "message" },
  { ...turn, type: "skill.loaded", skill: "propose-plan", eager: true },
  { ...turn, type: "model.called", profile: "gemini", step: 1, outcome: "ok", ms: 5 },
  { ...turn, type: "tool.called", tool: "patient_get", callId: "c" },
  { ...turn, type: "tool.finished", tool: "patient_get", callId: "c", outcome: "ok", ms: 5 },
  { ...turn, type: "tool.finished", tool: "no such tool!", callId: "d", outcome: "error", ms: 5 },
  { ...turn, type: "compaction.finished", outcome: "applied", tokensBefore: 9, tokensAfter: 3 },
  { ...turn, type: "turn.ended", outcome: "completed", steps: 2, ms: 30, portsMs: 10 },
  {
    ...turn,
    type: "turn.failed",
    code: "blocked",
    retryable: false,
    ms: 2,
    context: { step: 1, tools: ["patient_get"], skills: [] },
  },
  { ...session, type: "session.hibernated", ms: 1 },
];

test("every event is one line and what is counted is counted, labels from bounded sets", async () => {
  const { lines, log } = memoryLog();
  const metrics = createMetrics({ sessionsResident: () => 2, processMetrics: false });
  const observe = observer(log, metrics);
  for (const event of events) observe(event);
  expect(lines.map((line) => line["msg"])).toEqual(events.map((event) => event.type));
  const text = (await metrics.text()).split("\n").filter((line) => !line.startsWith("#") && !line.includes("bucket"));
  expect(text.filter((line) => line !== "")).toEqual([
    "dormouse_sessions_resident 2",
    'dormouse_turns_total{outcome="completed"} 1',
    'dormouse_turns_total{outcome="failed"} 1',
    'dormouse_model_calls_total{profile="gemini",outcome="ok"} 1',
    'dormouse_tool_calls_total{tool="patient_get",outcome="ok"} 1',
    'dormouse_tool_calls_total{tool="other",outcome="error"} 1',
    'dormouse_thaws_total{outcome="thawed"} 1',
    "dormouse_turn_overhead_seconds_sum 0.02",
    "dormouse_turn_overhead_seconds_count 1",
    "dormouse_thaw_seconds_sum 0.004",
    "dormouse_thaw_seconds_count 1",
  ]);
});

test("the process's own metrics are there unless switched off", async () => {
  expect(await createMetrics({ sessionsResident: () => 0 }).text()).toContain("process_cpu_seconds_total");
});
