import { describe } from "vitest";
import { hasRedis } from "../testing/redis.ts";
import { subagentsContract } from "./subagents.contract.ts";
import { redisFarEnd } from "./testing/far-ends.ts";

describe.runIf(await hasRedis("runtime/jobs"))("with Redis", () => {
  subagentsContract("Redis", redisFarEnd);
});
