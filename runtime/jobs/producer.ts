import type { Clock } from "../../machines/effects.ts";
import { Failure } from "../../machines/failure.ts";
import type { JobsBackend } from "./backend.ts";
import { BACKOFF_MS, type JobData, jobId, jobOptions, type QueueName } from "./queues.ts";
import { problemCode } from "./reports.ts";

/** Longest time that adding a job may take. */
export const ADD_MS = 2_000;
/** Most adds at a time; BullMQ has no bound of its own. */
const MOST_ADDING = 500;

/** The queue can't be reached, or did not answer in time: the job may have been added all the same. */
export class JobsUnavailable extends Failure {
  readonly code = "jobs_unavailable";
  readonly retryable = true;
  constructor(cause: string) {
    super(`the job queue did not take a job (${cause}); it is asked again with the next one`);
  }
}

export interface Producer {
  /** Adds a job, or leaves the one of this id as it is, ended or not. Gives its id. Throws `JobsUnavailable` within `ADD_MS`. */
  add<Q extends QueueName>(queue: Q, data: JobData<Q>): Promise<string>;
  /**
   * For what has not ended though it had a job before: leaves a job that waits or runs, and puts a second one in the place
   * of one that has ended or is gone. Gives the id of the job that counts. Throws `JobsUnavailable` within `ADD_MS`.
   */
  addAgain<Q extends QueueName>(queue: Q, data: JobData<Q>): Promise<string>;
  /** Takes a job away that has not begun. Never throws: what runs looks at the database itself. */
  remove(queue: QueueName, id: string): Promise<void>;
}

export type ProducerOptions = { readonly backend: JobsBackend; readonly clock: Clock; readonly backoffMs?: number };

export function producerOf({ backend, clock, backoffMs = BACKOFF_MS }: ProducerOptions): Producer {
  let adding = 0;

  /** Does it while the queue answers; whatever goes wrong is a `JobsUnavailable` in time. */
  async function asked<T>(what: () => Promise<T>): Promise<T> {
    const began = clock.monotonic();
    const health = await backend.ready(ADD_MS);
    if (health.state === "degraded") throw new JobsUnavailable(health.code);
    if (adding >= MOST_ADDING) throw new JobsUnavailable("jobs_too_many");
    adding += 1;
    const over = new AbortController();
    const work = what().finally(() => {
      adding -= 1;
    });
    const late = clock.sleep(Math.max(0, ADD_MS - (clock.monotonic() - began)), over.signal).then(
      () => Promise.reject(new JobsUnavailable("jobs_late")),
      () => new Promise<never>(() => {}),
    );
    try {
      return await Promise.race([work, late]);
    } catch (error) {
      // Nobody waits for it any more.
      work.catch(() => {});
      throw error instanceof JobsUnavailable ? error : new JobsUnavailable(problemCode(error));
    } finally {
      over.abort();
    }
  }

  const add = async (queue: QueueName, data: JobData, place: 1 | 2): Promise<string> => {
    const id = jobId(data, place);
    await backend.queue(queue).add(queue, data, { ...jobOptions(queue, backoffMs), jobId: id });
    return id;
  };

  return {
    add: (queue, data) => asked(() => add(queue, data, 1)),
    addAgain: (queue, data) =>
      asked(async () => {
        const state = await backend.queue(queue).getJobState(jobId(data));
        const isOver = state === "completed" || state === "failed" || state === "unknown";
        return add(queue, data, isOver ? 2 : 1);
      }),
    async remove(queue, id) {
      // One that runs is locked and stays.
      await asked(() => backend.queue(queue).remove(id)).catch(() => {});
    },
  };
}
