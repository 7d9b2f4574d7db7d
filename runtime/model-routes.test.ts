import { expect, test } from "vitest";
import { readConfig } from "./config.ts";
import { configuredRoutes, simulatedRoutes } from "./model-routes.ts";

const routes = (env: Readonly<Record<string, string>>) =>
  configuredRoutes(readConfig(env))?.map((route) => [route.kind, route.name, route.model, route.simulated]);

test("[B-08] Gemini comes first, then Bedrock; Bedrock alone is the primary; nothing leaves the place to the simulator", () => {
  const bedrock = ["bedrock", "bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", false];
  expect(routes({ BEDROCK_REGION: "us-west-2" })).toEqual([bedrock]);
  expect(routes({ GEMINI_API_KEY: "k", BEDROCK_REGION: "us-west-2" })).toEqual([
    ["gemini", "gemini", "gemini-2.5-pro", false],
    bedrock,
  ]);
  expect(routes({})).toBeUndefined();
});

test("[B-08] region, endpoint and model of Bedrock are used as set; without a model, its home keeps the data", () => {
  const set = { BEDROCK_REGION: "eu-central-1", BEDROCK_ENDPOINT: "http://127.0.0.1:9", BEDROCK_MODEL: "m" };
  expect(configuredRoutes(readConfig(set))).toEqual([
    {
      kind: "bedrock",
      name: "bedrock",
      region: "eu-central-1",
      endpoint: "http://127.0.0.1:9",
      model: "m",
      window: 200_000,
      stallMs: 60_000,
      simulated: false,
    },
  ]);
  const regions = ["us-gov-west-1", "eu-west-1", "ap-northeast-1", "ap-southeast-2", "ap-south-1"];
  const homes = regions.map((region) => String(routes({ BEDROCK_REGION: region })?.[0]?.[2]).split(".")[0]);
  expect(homes).toEqual(["us-gov", "eu", "jp", "au", "global"]);
});

test("[A-05] the simulator stands in for both wires, Gemini first", () => {
  const found = simulatedRoutes("http://127.0.0.1:1").map(({ kind, name, simulated }) => [kind, name, simulated]);
  expect(found).toEqual([
    ["gemini", "gemini-simulated", true],
    ["bedrock", "bedrock-simulated", true],
  ]);
});
