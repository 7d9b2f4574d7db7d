import { describe } from "vitest";
import { hasRedis } from "../testing/redis.ts";
import { jobsContract } from "./jobs.contract.ts";
import { summariesContract } from "./summaries.contract.ts";
import { redisFarEnd } from "./testing/far-ends.ts";

describe.runIf(await hasRedis("runtime/jobs"))("G-01 G-02 G-03 G-05 G-06 G-07 D-15 with Redis", () => {
  jobsContract(redisFarEnd);
  summariesContract(redisFarEnd);
});
