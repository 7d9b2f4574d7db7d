import { subagentsContract } from "./subagents.contract.ts";
import { postgresFarEnd } from "./testing/far-ends.ts";

subagentsContract("PostgreSQL", postgresFarEnd);
