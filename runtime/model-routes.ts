import type { Config } from "./config.ts";
import type { BedrockSettings, GeminiSettings, ProfileSettings } from "./models/profiles.ts";

const GEMINI = "https://generativelanguage.googleapis.com";
const GEMINI_MODEL = "gemini-2.5-pro";
const GEMINI_WINDOW = 1_048_576;
const CLAUDE = "anthropic.claude-sonnet-4-5-20250929-v1:0";
const CLAUDE_WINDOW = 200_000;
const STALL_MS = 60_000;

/**
 * The configured routes in their order, Gemini before Bedrock; undefined when there is none and the simulator takes their
 * place.
 */
export function configuredRoutes(config: Config): readonly ProfileSettings[] | undefined {
  const routes = [...geminiRoutes(config.gemini), ...bedrockRoutes(config.bedrock)];
  return routes.length === 0 ? undefined : routes;
}

function geminiRoutes(gemini: Config["gemini"]): readonly ProfileSettings[] {
  if (gemini === undefined) return [];
  const headers = Object.fromEntries(Object.entries(gemini.headers).map(([name, value]) => [name, value.reveal()]));
  return [
    {
      ...geminiBase("gemini", gemini.baseUrl ?? GEMINI, gemini.model),
      headers,
      ...(gemini.apiKey && { apiKey: gemini.apiKey.reveal() }),
      simulated: false,
    },
  ];
}

function bedrockRoutes(bedrock: Config["bedrock"]): readonly ProfileSettings[] {
  if (bedrock === undefined) return [];
  const { region, endpoint, model } = bedrock;
  return [{ ...bedrockBase("bedrock", region, model), ...(endpoint && { endpoint }), simulated: false }];
}

/** Both wires of the built-in simulator, spoken to by the real SDKs. */
export function simulatedRoutes(url: string): readonly ProfileSettings[] {
  return [
    { ...geminiBase("gemini-simulated", url, undefined), headers: {}, apiKey: "simulated", simulated: true },
    { ...bedrockBase("bedrock-simulated", "us-east-1", undefined), endpoint: url, simulated: true },
  ];
}

function geminiBase(name: string, baseUrl: string, model = GEMINI_MODEL) {
  const shared = { model, window: GEMINI_WINDOW, stallMs: STALL_MS };
  return { kind: "gemini", name, issuer: "gemini-api", baseUrl, ...shared } as const satisfies Partial<GeminiSettings>;
}

function bedrockBase(name: string, region: string, model = claudeIn(region)) {
  const shared = { model, window: CLAUDE_WINDOW, stallMs: STALL_MS };
  return { kind: "bedrock", name, region, ...shared } as const satisfies Partial<BedrockSettings>;
}

/** Inference profiles that keep the data in the region's geography, where there is one. */
const GEOGRAPHIES: readonly (readonly [RegExp, string])[] = [
  [/^us-gov-/, "us-gov"],
  [/^us-/, "us"],
  [/^eu-/, "eu"],
  [/^ap-northeast-[13]$/, "jp"],
  [/^ap-southeast-[24]$/, "au"],
];

function claudeIn(region: string): string {
  const geography = GEOGRAPHIES.find(([pattern]) => pattern.test(region))?.[1] ?? "global";
  return `${geography}.${CLAUDE}`;
}
