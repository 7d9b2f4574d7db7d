import { type Job, UnrecoverableError, WaitingError } from "bullmq";
import type { Clock } from "../../machines/effects.ts";
import { Failure, failureCode, isRetryable } from "../../machines/failure.ts";
import type { JobsBackend, JobWorker } from "./backend.ts";
import { closeSoon } from "./closing.ts";
import {
  type JobData,
  type JobProgress,
  jobData,
  QUEUES,
  type QueueName,
  WORKER_TIMES,
  type WorkerTimes,
} from "./queues.ts";

/** Why a job has to stop: its worker closes and gives it back, or another worker has taken it over. */
export class JobStopped extends Failure {
  readonly code: "worker_closing" | "job_lock_lost";
  readonly retryable = true;
  constructor(code: JobStopped["code"]) {
    super(`a job was stopped (${code}); it is done again elsewhere`);
    this.code = code;
  }
}

export type RunningJob<Q extends QueueName> = {
  readonly data: JobData<Q>;
  /** How often it was begun, this time included. */
  readonly attempt: number;
  /** Aborts with a `JobStopped`: what is done from then on does not count. */
  readonly signal: AbortSignal;
  /** Tells whoever waits. The latest one counts: one that comes while another is on its way replaces it. */
  progress(progress: JobProgress): void;
};

/**
 * Does the work and stores what comes of it. A `Failure` that is retryable is tried once more, anything else ends the job;
 * the queue is told the code alone.
 */
export type Processor<Q extends QueueName> = (job: RunningJob<Q>) => Promise<void>;
export type Processors = { readonly [Q in QueueName]?: Processor<Q> };

export type WorkersOptions = {
  readonly backend: JobsBackend;
  readonly processors: Processors;
  readonly clock: Clock;
  /** Jobs at a time, for each queue. */
  readonly concurrency: number;
  readonly times?: WorkerTimes;
  /** Told of each job that failed, with its code. */
  readonly onFailure?: (code: string, queue: QueueName, data: JobData) => void;
};

export interface Workers {
  /** Jobs that run now. */
  running(): number;
  /**
   * Takes no new job, waits for those that run, at most `graceMs`, then gives the rest back to the queue. Ends within the
   * grace and two seconds more.
   */
  close(graceMs: number): Promise<{ readonly returned: number }>;
}

type Running = { readonly stop: AbortController; readonly id: string };

/** Begins at once. A queue that is away is waited for. */
export function startWorkers(options: WorkersOptions): Workers {
  const { backend, processors, clock, concurrency, times = WORKER_TIMES } = options;
  const running = new Set<Running>();
  let isClosing = false;

  function started<Q extends QueueName>(queue: Q, process: Processor<Q>): JobWorker {
    const worker = backend.worker(queue, (job, token) => run(queue, process, job, token), { concurrency, times });
    worker.on("lockRenewalFailed", (ids) => {
      for (const { id, stop } of running) if (ids.includes(id)) stop.abort(new JobStopped("job_lock_lost"));
    });
    return worker;
  }

  async function run<Q extends QueueName>(queue: Q, process: Processor<Q>, job: Job, token: string | undefined) {
    const parsed = jobData[queue].safeParse(job.data);
    if (!parsed.success) throw bare("bad_job_data", false);
    const data = parsed.data as JobData<Q>;
    const one: Running = { stop: new AbortController(), id: job.id ?? "" };
    const { signal } = one.stop;
    running.add(one);
    try {
      if (isClosing) one.stop.abort(new JobStopped("worker_closing"));
      const work = signal.aborted
        ? Promise.reject(signal.reason)
        : process({ data, attempt: job.attemptsStarted, signal, progress: progressOf(job) });
      // Whoever does not hear the signal is not waited for; what it stores later does not count.
      work.catch(() => {});
      await Promise.race([work, stopped(signal)]);
    } catch (error) {
      if (error instanceof JobStopped) return await leave(job, token, error);
      const code = failureCode(error);
      options.onFailure?.(code, queue, data);
      throw bare(code, isRetryable(error));
    } finally {
      running.delete(one);
    }
  }

  const workers = QUEUES.flatMap((queue) => {
    const process = processors[queue] as Processor<QueueName> | undefined;
    return process ? [started(queue, process)] : [];
  });

  return {
    running: () => running.size,

    async close(graceMs) {
      const over = new AbortController();
      const closings = workers.map((worker) => worker.close().catch(() => {}));
      isClosing = true;
      await Promise.race([Promise.all(closings), clock.sleep(graceMs, over.signal).catch(() => {})]);
      over.abort();
      const left = [...running];
      for (const { stop } of left) stop.abort(new JobStopped("worker_closing"));
      await Promise.all(workers.map((worker) => closeSoon(worker, clock)));
      return { returned: left.length };
    },
  };
}

/** Neither done nor failed. What is given back goes to the head of the queue; what another has taken over is his. */
async function leave(job: Job, token: string | undefined, { code }: JobStopped): Promise<never> {
  // A queue that is away finds it stalled later.
  if (code === "worker_closing") await job.moveToWait(token).catch(() => {});
  throw new WaitingError();
}

/** All that the queue may store of an error; its options keep the stack out. */
const bare = (code: string, mayPass: boolean): Error => (mayPass ? new Error(code) : new UnrecoverableError(code));

function progressOf(job: Job): (progress: JobProgress) => void {
  let next: JobProgress | undefined;
  let isSending = false;
  const send = async () => {
    isSending = true;
    while (next !== undefined) {
      const now = next;
      next = undefined;
      // Lost progress is made good by the next one.
      await job.updateProgress(now).catch(() => {});
    }
    isSending = false;
  };
  return (progress) => {
    next = progress;
    if (!isSending) void send();
  };
}

function stopped(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
