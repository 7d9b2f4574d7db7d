import { Failure } from "../../machines/failure.ts";

/** Another live process uses this data folder. */
export class DataDirInUse extends Failure {
  readonly code = "data_dir_in_use";
  readonly retryable = false;
  readonly pid: number;
  constructor(folder: string, pid: number) {
    super(`${folder} is in use by process ${pid}: stop that one, or give this one another DATA_DIR`);
    this.pid = pid;
  }
}

/** The embedded PostgreSQL could not be made or started; the message says what to do. */
export class EmbeddedStartFailed extends Failure {
  readonly code = "embedded_postgres_failed";
  readonly retryable = false;
}
