import { describe } from "vitest";
import { jobsContract } from "./jobs.contract.ts";
import { summariesContract } from "./summaries.contract.ts";
import { postgresFarEnd } from "./testing/far-ends.ts";

describe("G-01 G-02 G-03 G-05 G-06 G-07 D-15 with PostgreSQL", () => {
  jobsContract(postgresFarEnd);
  summariesContract(postgresFarEnd);
});
