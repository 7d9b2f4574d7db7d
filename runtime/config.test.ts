import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { ConfigError, readConfig } from "./config.ts";

const KEY = Buffer.alloc(32, 7).toString("base64");

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe("the environment", () => {
  test("is complete without any variable: demo mode on the embedded server", () => {
    expect(readConfig({ DATA_DIR: "/data", PORT: "" })).toEqual({
      production: false,
      demo: false,
      host: "127.0.0.1",
      port: 8787,
      dataDir: "/data",
      allowNoOrigin: true,
      grants: true,
      embeddedWorkers: 1,
      blobs: { kind: "file", folder: "/data/blobs" },
      hibernateAfterMs: 0,
      drainLeadMs: 2_000,
      drainGraceMs: 25_000,
      inspect: false,
      logLevel: "info",
    });
  });

  test("is read whole, and frozen", () => {
    const config = readConfig({
      NODE_ENV: "production",
      PORT: "0",
      HOST: "0.0.0.0",
      DATA_DIR: "/data",
      DATABASE_URL: "postgres://u:p@db/x",
      REDIS_URL: "redis://:p@cache",
      ENCRYPTION_KEYS: `b:${KEY}, a:${KEY}`,
      PLATFORM_URL: "https://platform.example/",
      ALLOWED_ORIGINS: "https://app.example, http://localhost:3000",
      GEMINI_API_KEY: "key-1",
      GEMINI_BASE_URL: "https://gateway.example/gemini/",
      GEMINI_HEADERS: '{"x-team": "care"}',
      GEMINI_MODEL: "gemini-x",
      BEDROCK_ENDPOINT: "http://127.0.0.1:9",
      AWS_REGION: "eu-central-1",
      BLOBS_URL: "s3://bucket/a/b",
      S3_ENDPOINT: "http://127.0.0.1:10",
      OPERATOR_TOKEN: "operator",
      GRANTS: "off",
      LOG_LEVEL: "debug",
    });
    expect({
      origins: config.allowedOrigins,
      noOrigin: config.allowNoOrigin,
      platform: config.platformUrl,
      direct: config.database?.directUrl.reveal(),
      keys: config.encryptionKeys?.map(({ id, key }) => [id, key.reveal()]),
      gemini: [config.gemini?.apiKey?.reveal(), config.gemini?.baseUrl, config.gemini?.headers["x-team"]?.reveal()],
      bedrock: config.bedrock,
      blobs: config.blobs,
      grants: config.grants,
      frozen: Object.isFrozen(config) && Object.isFrozen(config.blobs),
    }).toEqual({
      origins: ["https://app.example", "http://localhost:3000"],
      noOrigin: false,
      platform: "https://platform.example",
      direct: "postgres://u:p@db/x",
      keys: [
        ["b", KEY],
        ["a", KEY],
      ],
      gemini: ["key-1", "https://gateway.example/gemini", "care"],
      bedrock: { region: "eu-central-1", endpoint: "http://127.0.0.1:9" },
      blobs: {
        kind: "s3",
        bucket: "bucket",
        prefix: "a/b",
        endpoint: "http://127.0.0.1:10",
        region: "eu-central-1",
      },
      grants: false,
      frozen: true,
    });
    for (const text of [inspect(config, { depth: 9 }), JSON.stringify(config), String(config.operatorToken)])
      expect(text).not.toMatch(/key-1|u:p@|operator"|care/);
  });

  test("names every bad variable at once, with what it takes and what it got, and shows no secret", () => {
    expect(
      problemsOf({
        PORT: "80a",
        ENCRYPTION_KEYS: "main:c2hvcnQ=",
        REDIS_URL: "http://:hunter2@cache",
        DATABASE_DIRECT_URL: "postgres://u:hunter2@db/x",
        PLATFORM_URL: "https://u:hunter2@platform.example/?token=hunter2",
        ALLOWED_ORIGINS: "https://app.example/",
        GEMINI_BASE_URL: "https://gateway.example/openai",
        GEMINI_HEADERS: "x=hunter2",
        BEDROCK_MODEL: "m",
        BLOBS_URL: "ftp://x",
        LOG_LEVEL: "loud",
        GRANTS: "maybe",
        ALLOW_NO_ORIGIN: "yes\n",
      }),
    ).toEqual([
      'PLATFORM_URL: takes a http:// or https:// URL without user, query or fragment; got "https://…@platform.example/?…"',
      'PORT: takes a whole number from 0 to 65535; got "80a"',
      "DATABASE_DIRECT_URL: takes a value only together with DATABASE_URL; got set, 25 characters",
      "REDIS_URL: takes a redis:// or rediss:// URL; got set, 21 characters",
      "ENCRYPTION_KEYS: takes id:base64key,id:base64key with keys of 32 bytes and ids used once; got set, 13 characters",
      'ALLOWED_ORIGINS: takes origins like https://app.example.org, separated by commas; got "https://app.example/"',
      'ALLOW_NO_ORIGIN: takes 1 or 0; got "yes"',
      'GEMINI_BASE_URL: takes a base URL that can be understood (the Gemini base URL is that of an OpenAI-compatible endpoint; Dormouse needs the native Gemini one); got "https://gateway.example/openai"',
      'GEMINI_HEADERS: takes a JSON object of header names and texts, {"name": "value"}; got set, 9 characters',
      "BEDROCK_REGION: takes an AWS region like us-east-1; got nothing",
      'GRANTS: takes 1 or 0; got "maybe"',
      'BLOBS_URL: takes file:<folder> or s3://bucket/prefix; got "ftp://x"',
      'LOG_LEVEL: takes trace, debug, info, warn, error, fatal, silent; got "loud"',
    ]);
  });

  test("of production forbids simulator, reference platform, made key and missing origins", () => {
    const env = { NODE_ENV: "production", ALLOW_NO_ORIGIN: "1" };
    expect(problemsOf(env).map((line) => line.split(":")[0])).toEqual([
      "GEMINI_API_KEY",
      "PLATFORM_URL",
      "ENCRYPTION_KEYS",
      "ALLOW_NO_ORIGIN",
    ]);
    expect(problemsOf({ ...env, DEMO: "1" })).toEqual([]);
    expect(problemsOf({ ...env, NODE_ENV: "development" })).toEqual([]);
  });
});
