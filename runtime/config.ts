import { resolve } from "node:path";
import { Failure } from "../machines/failure.ts";
import { type Environment, environment, type Reader } from "./config/environment.ts";
import { Secret } from "./config/secret.ts";
import { geminiBaseUrl, geminiHeaders } from "./models/gemini-url.ts";

export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";
const LOG_LEVELS: readonly LogLevel[] = ["trace", "debug", "info", "warn", "error", "fatal", "silent"];

export type EncryptionKey = { readonly id: string; readonly key: Secret };
export type BlobsConfig =
  | { readonly kind: "file"; readonly folder: string }
  | {
      readonly kind: "s3";
      readonly bucket: string;
      readonly prefix: string;
      readonly endpoint?: string;
      /** Absent: as the SDK finds it. */
      readonly region?: string;
    };

/** The environment as the composition roots use it. Times are milliseconds; an absent part is not configured. */
export type Config = {
  readonly production: boolean;
  /** `DEMO=1`: production may run on simulator, reference platform and made key. */
  readonly demo: boolean;
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  readonly dataDir: string;
  readonly database?: { readonly url: Secret; readonly directUrl: Secret };
  readonly redisUrl?: Secret;
  /** The first is active. Absent: one is made in the data folder. */
  readonly encryptionKeys?: readonly EncryptionKey[];
  /** Without a slash at the end. Absent: the reference platform, which is demo mode. */
  readonly platformUrl?: string;
  /** Absent: the server's own origin. */
  readonly allowedOrigins?: readonly string[];
  readonly allowNoOrigin: boolean;
  readonly gemini?: {
    readonly apiKey?: Secret;
    readonly baseUrl?: string;
    readonly headers: Readonly<Record<string, Secret>>;
    readonly model?: string;
  };
  readonly bedrock?: { readonly region: string; readonly endpoint?: string; readonly model?: string };
  /** Model that sums conversations up. Absent: a cheap one of the first route's make. */
  readonly summaryModel?: string;
  readonly operatorToken?: Secret;
  readonly grants: boolean;
  readonly embeddedWorkers: number;
  readonly blobs: BlobsConfig;
  readonly hibernateAfterMs: number;
  readonly drainLeadMs: number;
  readonly drainGraceMs: number;
  readonly inspect: boolean;
  readonly logLevel: LogLevel;
  readonly otlpEndpoint?: string;
};

/** The environment can't be used. `problems` has one line a variable and shows no secret. */
export class ConfigError extends Failure {
  readonly code = "bad_environment";
  readonly retryable = false;
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}

/** Reads the environment once, at start. Throws one `ConfigError` that names every bad variable. */
export function readConfig(env: Environment): Config {
  const read = environment(env);
  const demo = read.flag("DEMO", false);
  const production = read.text("NODE_ENV") === "production";
  const dataDir = resolve(read.text("DATA_DIR") ?? ".data");
  const platformUrl = read.url("PLATFORM_URL", ["http:", "https:"]);
  const config = {
    production,
    demo,
    host: read.text("HOST") ?? "127.0.0.1",
    port: read.number("PORT", 8787, 65_535),
    dataDir,
    database: readDatabase(read),
    redisUrl: read.secretUrl("REDIS_URL", ["redis:", "rediss:"]),
    encryptionKeys: readKeys(read),
    platformUrl,
    allowedOrigins: readOrigins(read),
    allowNoOrigin: read.flag("ALLOW_NO_ORIGIN", platformUrl === undefined),
    gemini: readGemini(read),
    bedrock: readBedrock(read),
    summaryModel: read.text("SUMMARY_MODEL"),
    operatorToken: read.secret(
      "OPERATOR_TOKEN",
      (text) => /^[\x21-\x7e]{1,512}$/.test(text),
      "visible ASCII without spaces",
    ),
    grants: read.flag("GRANTS", true),
    embeddedWorkers: read.number("EMBEDDED_WORKERS", 1, 64),
    blobs: readBlobs(read, dataDir),
    hibernateAfterMs: read.number("HIBERNATE_AFTER_MS", 0),
    drainLeadMs: read.number("DRAIN_LEAD_MS", 2_000),
    drainGraceMs: read.number("DRAIN_GRACE_MS", 25_000),
    inspect: read.flag("INSPECT", false),
    logLevel: read.oneOf("LOG_LEVEL", LOG_LEVELS, "info"),
    otlpEndpoint: read.url("OTEL_EXPORTER_OTLP_ENDPOINT", ["http:", "https:"]),
  };
  if (production && !demo) forbidDemoParts(read, config);
  if (read.problems.length > 0) throw new ConfigError(read.problems);
  return deepFreeze(withoutUndefined(config)) as Config;
}

function readDatabase(read: Reader): Config["database"] {
  const schemes = ["postgres:", "postgresql:"];
  const url = read.secretUrl("DATABASE_URL", schemes);
  const directUrl = read.secretUrl("DATABASE_DIRECT_URL", schemes);
  if (url === undefined && directUrl !== undefined)
    read.refuse("DATABASE_DIRECT_URL", "a value only together with DATABASE_URL");
  return url && { url, directUrl: directUrl ?? url };
}

function readKeys(read: Reader): readonly EncryptionKey[] | undefined {
  return read.parsed("ENCRYPTION_KEYS", "id:base64key,id:base64key with keys of 32 bytes and ids used once", (text) => {
    const keys: EncryptionKey[] = [];
    for (const item of text.split(",")) {
      const [, id, encoded] = /^\s*([A-Za-z0-9_-]{1,64}):([A-Za-z0-9+/]{43}=?)\s*$/.exec(item) ?? [];
      if (id === undefined || encoded === undefined || keys.some((key) => key.id === id)) return undefined;
      keys.push({ id, key: new Secret(encoded) });
    }
    return keys;
  });
}

function readOrigins(read: Reader): readonly string[] | undefined {
  return read.parsed("ALLOWED_ORIGINS", "origins like https://app.example.org, separated by commas", (text) => {
    const origins = text.split(",").map((item) => item.trim());
    return origins.every((origin) => URL.canParse(origin) && new URL(origin).origin === origin) ? origins : undefined;
  });
}

function readGemini(read: Reader): Config["gemini"] | undefined {
  const apiKey = read.secret("GEMINI_API_KEY", (text) => /^[\x21-\x7e]+$/.test(text), "an API key");
  const baseUrl = read.url("GEMINI_BASE_URL", ["http:", "https:"]);
  const wrong = baseUrl === undefined ? undefined : baseUrlProblem(baseUrl);
  if (wrong !== undefined) read.refuse("GEMINI_BASE_URL", wrong);
  const headers = read.parsed(
    "GEMINI_HEADERS",
    'a JSON object of header names and texts, {"name": "value"}',
    headerMap,
  );
  const model = read.text("GEMINI_MODEL");
  if (apiKey === undefined && baseUrl === undefined) return undefined;
  return withoutUndefined({ apiKey, baseUrl, headers: headers ?? {}, model }) as Config["gemini"];
}

function baseUrlProblem(text: string): string | undefined {
  try {
    geminiBaseUrl(text);
    return undefined;
  } catch (error) {
    return `a base URL that can be understood (${error instanceof Error ? error.message : "it can't be"})`;
  }
}

function headerMap(text: string): Record<string, Secret> | undefined {
  try {
    const entries = Object.entries(geminiHeaders(text));
    return Object.fromEntries(entries.map(([name, value]) => [name, new Secret(value)]));
  } catch {
    return undefined;
  }
}

function readBedrock(read: Reader): Config["bedrock"] | undefined {
  const own = read.text("BEDROCK_REGION");
  const endpoint = read.url("BEDROCK_ENDPOINT", ["http:", "https:"]);
  const model = read.text("BEDROCK_MODEL");
  if (own === undefined && endpoint === undefined && model === undefined) return undefined;
  const region = own ?? read.text("AWS_REGION") ?? read.text("AWS_DEFAULT_REGION");
  if (region === undefined || !/^[a-z]{2}(-[a-z]+)+-\d+$/.test(region))
    read.refuse("BEDROCK_REGION", "an AWS region like us-east-1");
  return withoutUndefined({ region, endpoint, model }) as Config["bedrock"];
}

function readBlobs(read: Reader, dataDir: string): BlobsConfig {
  const endpoint = read.url("S3_ENDPOINT", ["http:", "https:"]);
  const region = read.text("AWS_REGION") ?? read.text("AWS_DEFAULT_REGION");
  const blobs = read.parsed("BLOBS_URL", "file:<folder> or s3://bucket/prefix", (text): BlobsConfig | undefined => {
    const [, folder] = /^file:(?:\/\/(?=\/))?(.+)$/.exec(text) ?? [];
    if (folder !== undefined) return { kind: "file", folder: resolve(folder) };
    const [, bucket, prefix = ""] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/.exec(text) ?? [];
    return bucket === undefined
      ? undefined
      : {
          kind: "s3",
          bucket,
          prefix,
          ...(endpoint !== undefined && { endpoint }),
          ...(region !== undefined && { region }),
        };
  });
  return blobs ?? { kind: "file", folder: resolve(dataDir, "blobs") };
}

/** What is fine on a laptop and a danger in production has to be asked for by name (`DEMO=1`). */
function forbidDemoParts(
  read: Reader,
  config: Pick<Config, "allowNoOrigin"> & { [K in keyof Config]?: Config[K] | undefined },
): void {
  const only = "or DEMO=1, with NODE_ENV=production";
  if (config.gemini === undefined && config.bedrock === undefined)
    read.refuse(
      "GEMINI_API_KEY",
      `an API key (or BEDROCK_REGION a region; the simulator is not for production), ${only}`,
    );
  if (config.platformUrl === undefined)
    read.refuse("PLATFORM_URL", `the URL of your platform (the reference platform's login is open to anyone), ${only}`);
  if (config.encryptionKeys === undefined)
    read.refuse("ENCRYPTION_KEYS", `id:base64key (a key made at start is lost with the folder), ${only}`);
  if (config.allowNoOrigin && read.text("ALLOW_NO_ORIGIN") !== undefined)
    read.refuse("ALLOW_NO_ORIGIN", `nothing or 0, ${only}`);
}

function withoutUndefined(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined));
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const item of Object.values(value)) deepFreeze(item);
  }
  return value;
}
