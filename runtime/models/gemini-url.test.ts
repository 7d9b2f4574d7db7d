import { expect, test } from "vitest";
import { ModelSettingsInvalid } from "./failures.ts";
import { geminiBaseUrl, geminiHeaders } from "./gemini-url.ts";

const ROOT = "https://gw.example.test/v1/acct/gw/google-ai-studio";

test("[A-13] every form of the base URL gives one root", () => {
  const forms = [
    "",
    "/",
    "//",
    "/v1beta",
    "/v1beta/",
    "/v1",
    "/v1beta/models",
    "/v1beta/models/",
    "/models",
    "/v1beta/models/g-1:streamGenerateContent",
  ];
  for (const form of forms) expect(geminiBaseUrl(`${ROOT}${form}`)).toBe(ROOT);
  expect(geminiBaseUrl(" https://generativelanguage.example.test ")).toBe("https://generativelanguage.example.test");
  expect(geminiBaseUrl("http://127.0.0.1:8787/any/prefix")).toBe("http://127.0.0.1:8787/any/prefix");
});

test("[A-13] what can't be understood is refused, without repeating it", () => {
  const bad = [
    "",
    "gw.example.test/x",
    "ftp://gw.example.test",
    "https://u:secret@gw.test",
    "https://gw.test/?key=secret",
    "https://gw.test/#secret",
    "https://gw.test/compat/chat/completions",
    "https://gw.test/v1beta/openai",
    "https://gw.test/v1beta/secret:generateContent",
  ];
  for (const text of bad) {
    const refused = () => geminiBaseUrl(text);
    expect(refused, text).toThrow(ModelSettingsInvalid);
    expect(refused).not.toThrow("secret");
  }
});

test("[A-13] headers are one JSON object of texts", () => {
  expect(geminiHeaders(undefined)).toEqual({});
  expect(geminiHeaders('{"cf-aig-authorization":"Bearer x"}')).toEqual({ "cf-aig-authorization": "Bearer x" });
  for (const text of ["{secret", '"secret"', '{"a":1}', '{"a b":"secret"}', '{"a":"secret\\nx"}', "[]"]) {
    const refused = () => geminiHeaders(text);
    expect(refused, text).toThrow(ModelSettingsInvalid);
    expect(refused).not.toThrow("secret");
  }
});
