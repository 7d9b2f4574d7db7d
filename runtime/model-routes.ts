import { type Config, ConfigError } from "./config.ts";
import type { ProfileSettings } from "./models/profiles.ts";

const GEMINI = "https://generativelanguage.googleapis.com";
const DEFAULT_MODEL = "gemini-2.5-pro";
const WINDOW = 1_048_576;
const STALL_MS = 60_000;

/** The configured routes in their order; undefined when there is none and the simulator takes their place. */
export function configuredRoutes(config: Config): readonly ProfileSettings[] | undefined {
  const { gemini, bedrock } = config;
  if (bedrock !== undefined) {
    throw new ConfigError(["BEDROCK_REGION: nothing; this version has no Bedrock route yet"]);
  }
  if (gemini === undefined) return undefined;
  const headers = Object.fromEntries(Object.entries(gemini.headers).map(([name, value]) => [name, value.reveal()]));
  return [
    {
      ...base("gemini", gemini.baseUrl ?? GEMINI, gemini.model),
      headers,
      ...(gemini.apiKey && { apiKey: gemini.apiKey.reveal() }),
      simulated: false,
    },
  ];
}

/** The built-in simulator, spoken to by the real SDK. */
export function simulatedRoute(url: string): ProfileSettings {
  return { ...base("gemini-simulated", url, undefined), headers: {}, apiKey: "simulated", simulated: true };
}

function base(name: string, baseUrl: string, model = DEFAULT_MODEL) {
  return { kind: "gemini", name, issuer: "gemini-api", baseUrl, model, window: WINDOW, stallMs: STALL_MS } as const;
}
