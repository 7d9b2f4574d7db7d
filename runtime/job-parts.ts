import type { AgentDefinition } from "../machines/agent.ts";
import { loadSkills } from "../skills/registry.ts";
import { type Toolboxes, toolboxes } from "../tools/toolbox.ts";
import type { Config } from "./config.ts";
import { realChance, realClock } from "./effects.ts";
import { type JobsBackend, openBackend } from "./jobs/backend.ts";
import { type Producer, producerOf } from "./jobs/producer.ts";
import { subagentProcessor } from "./jobs/subagent-processor.ts";
import { SUBAGENT_SKILLS } from "./jobs/subagents/parts.ts";
import { summaryProcessor } from "./jobs/summaries.ts";
import { type Waits, waitsOf } from "./jobs/waiting.ts";
import { startWorkers, type Workers } from "./jobs/workers.ts";
import type { Observe } from "./observe/events.ts";
import type { Log } from "./observe/log.ts";
import type { Closers, Parts } from "./parts.ts";
import { recordSummaries } from "./summaries/record.ts";

/** A summary that takes longer is given up. No turn waits for it that long. */
export const SUMMARY_MS = 60_000;
/** Jobs of one queue that a process works on at a time: fewer beside conversations that stream. */
const AT_ONCE = { node: 2, worker: 4 } as const;

export type Jobs = { readonly backend: JobsBackend; readonly producer: Producer; readonly waits: Waits };

/** The queues as configured: on Redis, else in the database. A queue that is away is no reason not to start. */
export function openJobs(config: Config, databaseUrl: string, log: Log, closers: Closers): Jobs {
  const clock = realClock;
  const url = config.database?.directUrl?.reveal() ?? databaseUrl;
  const backend = openBackend(
    config.redisUrl ? { kind: "redis", url: config.redisUrl.reveal() } : { kind: "postgres", url },
    {
      clock,
      tell: ({ level, code, queue, times }) =>
        log[level]("jobs", { code, count: times, ...(queue && { name: queue }) }),
    },
  );
  closers.add("queues", () => backend.close());
  const waits = waitsOf(backend, clock);
  closers.add("readers of queues", () => waits.close());
  return { backend, producer: producerOf({ backend, clock }), waits };
}

type WorkersPlace = {
  readonly log: Log;
  readonly observe: Observe;
  readonly closers: Closers;
  /** How long they may go on when the process ends. */
  readonly graceMs: number;
  /** What the process is otherwise. */
  readonly beside: keyof typeof AT_ONCE;
};

/** Workers for everything that is queued. */
export function startJobWorkers(
  { backend }: Jobs,
  parts: Parts,
  agent: AgentDefinition,
  { log, observe, closers, graceMs, beside }: WorkersPlace,
): Workers {
  const { store, model, summariser, mcp } = parts;
  const clock = realClock;
  const skills = loadSkills({ names: SUBAGENT_SKILLS });
  for (const { file, code } of skills.problems) log.warn("a skill file has a problem", { name: file, code });
  // A sub-agent asks no other sub-agent.
  const boxes: Toolboxes = toolboxes({ agent, skills: parts.skills, mcp });
  const workers = startWorkers({
    ...{ backend, clock, concurrency: AT_ONCE[beside] },
    processors: {
      subagents: subagentProcessor({
        ...{ store, model, skills, toolboxes: boxes, clock, chance: realChance, observe },
        maxOutputTokens: agent.limits.outputTokens,
        note: (event, { sessionId, turnId, callId }, code) =>
          log.info(event, {
            session_id: sessionId,
            turn_id: turnId,
            call_id: callId,
            ...(code !== undefined && { code }),
          }),
      }),
      summaries: summaryProcessor({
        ...{ summariser, histories: store.histories, summaries: store.summaries, clock, limitMs: SUMMARY_MS },
        ...recordSummaries(summariser, store.calls, observe),
      }),
    },
    onFailure: (code, queue) => log.warn("a job failed", { code, name: queue }),
  });
  closers.add("workers", async () => {
    const { returned } = await workers.close(graceMs);
    if (returned > 0) log.info("jobs were given back", { count: returned });
  });
  return workers;
}
