import { expect, test } from "vitest";
import { ModelSettingsInvalid } from "./failures.ts";
import { type BedrockSettings, type GeminiSettings, modelsOf, type ProfileSettings } from "./profiles.ts";
import { counter } from "./testing/gemini.ts";

const route = (more: Partial<GeminiSettings> = {}): GeminiSettings => ({
  kind: "gemini",
  name: "primary",
  issuer: "gemini-api",
  baseUrl: "https://gw.example.test/v1beta",
  headers: {},
  model: "gemini-test",
  window: 1_000_000,
  stallMs: 30_000,
  simulated: false,
  ...more,
});
const claude: BedrockSettings = {
  kind: "bedrock",
  name: "bedrock",
  region: "eu-central-1",
  model: "m",
  window: 200_000,
  stallMs: 30_000,
  simulated: false,
};
const deps = { newCallId: counter() };

test("[A-04] profiles become models in their order; the issuer is the route kind, whatever the name", () => {
  const models = modelsOf([route({ name: "gateway-gemini" }), route({ name: "b", issuer: "vertex", window: 5 })], deps);
  expect(models.map(({ name, issuer, window, projector }) => [name, issuer, window, projector])).toEqual([
    ["gateway-gemini", "gemini-api", 1_000_000, 1],
    ["b", "vertex", 5, 1],
  ]);
});

test("[B-08] both kinds stand beside each other, and Bedrock alone is the primary", () => {
  const names = (...profiles: readonly ProfileSettings[]) =>
    modelsOf(profiles, deps).map(({ name, issuer }) => [name, issuer]);
  expect(names(route(), claude)).toEqual([
    ["primary", "gemini-api"],
    ["bedrock", "bedrock-claude"],
  ]);
  expect(names(claude)).toEqual([["bedrock", "bedrock-claude"]]);
});

test("[A-13] settings that can't work are refused at start", () => {
  const bad: readonly (readonly ProfileSettings[])[] = [
    [],
    [route(), route()],
    [route(), route({ name: "sim", simulated: true })],
    [route({ baseUrl: "gw" })],
  ];
  for (const profiles of bad) expect(() => modelsOf(profiles, deps)).toThrow(ModelSettingsInvalid);
});
