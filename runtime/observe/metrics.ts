import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

export type ModelCallOutcome = "ok" | "retried" | "failed" | "cancelled";
export type ToolCallOutcome = "ok" | "error" | "cancelled" | "unknown";
export type TurnEnd = "completed" | "awaiting" | "failed" | "cancelled";
export type ThawOutcome = "fresh" | "thawed" | "rebuilt" | "failed";

/** The counters of PROTOCOL.md. Times are seconds. */
export interface Metrics {
  turnEnded(outcome: TurnEnd): void;
  /** Wall time of a turn minus the time inside model and tool ports. */
  turnOverhead(seconds: number): void;
  modelCall(profile: string, outcome: ModelCallOutcome): void;
  toolCall(tool: string, outcome: ToolCallOutcome): void;
  thaw(outcome: ThawOutcome, seconds: number): void;
  /** Prometheus text. */
  text(): Promise<string>;
}

export type MetricsOptions = {
  /** Asked at each scrape. */
  readonly sessionsResident: () => number;
  /** Sockets open now. */
  readonly sockets?: () => number;
  /** Adds Node's own (memory, event loop, GC). */
  readonly processMetrics?: boolean;
};

const OVERHEAD = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const THAW = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

export function createMetrics({ sessionsResident, sockets, processMetrics = true }: MetricsOptions): Metrics {
  const registry = new Registry();
  if (processMetrics) collectDefaultMetrics({ register: registry });
  const registers = [registry];
  gauge("dormouse_sessions_resident", "Sessions in memory on this node", sessionsResident);
  if (sockets !== undefined) gauge("dormouse_sockets", "WebSockets open on this node", sockets);
  const turns = counter("dormouse_turns_total", "Turns that ended", ["outcome"]);
  const models = counter("dormouse_model_calls_total", "Calls of model profiles", ["profile", "outcome"]);
  const tools = counter("dormouse_tool_calls_total", "Tool calls", ["tool", "outcome"]);
  const thaws = counter("dormouse_thaws_total", "Sessions brought into memory", ["outcome"]);
  const overhead = histogram("dormouse_turn_overhead_seconds", "Turn time outside model and tools", OVERHEAD);
  const thawTime = histogram("dormouse_thaw_seconds", "Time to bring a session into memory", THAW);
  const profileLabel = boundedLabel(20);
  const toolLabel = boundedLabel(200);
  return {
    turnEnded: (outcome) => turns.inc({ outcome }),
    turnOverhead: (seconds) => overhead.observe(Math.max(0, seconds)),
    modelCall: (profile, outcome) => models.inc({ profile: profileLabel(profile), outcome }),
    toolCall: (tool, outcome) => tools.inc({ tool: toolLabel(tool), outcome }),
    thaw(outcome, seconds) {
      thaws.inc({ outcome });
      thawTime.observe(Math.max(0, seconds));
    },
    text: () => registry.metrics(),
  };

  function gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  }
  function counter<Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> {
    return new Counter({ name, help, labelNames, registers });
  }
  function histogram(name: string, help: string, buckets: number[]): Histogram {
    return new Histogram({ name, help, buckets, registers });
  }
}

/** Keeps the first `max` well-formed values and calls all others `other`: a model may name tools that don't exist. */
function boundedLabel(max: number): (value: string) => string {
  const seen = new Set<string>();
  return (value) => {
    if (seen.has(value)) return value;
    if (seen.size >= max || !/^[\w.:-]{1,64}$/.test(value)) return "other";
    seen.add(value);
    return value;
  };
}
