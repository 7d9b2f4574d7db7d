import { expect, test } from "vitest";
import { readConfig } from "./config.ts";
import { configuredRoutes } from "./model-routes.ts";
import { summaryRoute } from "./summary-route.ts";

const of = (env: Record<string, string>) => {
  const config = readConfig(env);
  const [route] = configuredRoutes(config) ?? [];
  if (route === undefined) throw new Error("no route");
  const { name, model, window } = summaryRoute(route, config.summaryModel);
  return { name, model, window };
};

test("[SR1] summaries take the first route with a cheaper model, in the same geography, or the one that is named", () => {
  expect([
    of({ GEMINI_API_KEY: "k" }),
    of({ BEDROCK_REGION: "eu-central-1" }),
    of({ BEDROCK_REGION: "eu-central-1", BEDROCK_MODEL: "arn:own" }),
    of({ GEMINI_API_KEY: "k", SUMMARY_MODEL: "tiny" }),
  ]).toEqual([
    { name: "gemini-summary", model: "gemini-2.5-flash", window: 1_048_576 },
    { name: "bedrock-summary", model: "eu.anthropic.claude-haiku-4-5-20251001-v1:0", window: 200_000 },
    { name: "bedrock-summary", model: "arn:own", window: 200_000 },
    { name: "gemini-summary", model: "tiny", window: 1_048_576 },
  ]);
});
