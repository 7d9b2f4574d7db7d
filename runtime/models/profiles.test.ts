import { expect, test } from "vitest";
import { ModelSettingsInvalid } from "./failures.ts";
import { modelsOf, type ProfileSettings } from "./profiles.ts";
import { counter } from "./testing/gemini.ts";

const route = (more: Partial<ProfileSettings> = {}): ProfileSettings => ({
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
const deps = { newCallId: counter() };

test("[A-04] profiles become models in their order; the issuer is the route kind, whatever the name", () => {
  const models = modelsOf([route({ name: "gateway-gemini" }), route({ name: "b", issuer: "vertex", window: 5 })], deps);
  expect(models.map(({ name, issuer, window, projector }) => [name, issuer, window, projector])).toEqual([
    ["gateway-gemini", "gemini-api", 1_000_000, 1],
    ["b", "vertex", 5, 1],
  ]);
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
