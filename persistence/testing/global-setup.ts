import type { TestProject } from "vitest/node";
import { startTestServer } from "./server.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Address of a server on which tests may create databases; never a database to write to. */
    postgres: string;
  }
}

/** Starts one PostgreSQL for a vitest project, unless `TEST_DATABASE_URL` names one, and stops it at the end. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env["TEST_DATABASE_URL"];
  if (given) {
    project.provide("postgres", given);
    return async () => {};
  }
  const server = await startTestServer();
  project.provide("postgres", server.url);
  return () => server.stop();
}
