import { never } from "../../machines/failure.ts";
import type { CallId } from "../../machines/ids.ts";
import type { Model } from "../../machines/model.ts";
import { bedrockModel } from "./bedrock.ts";
import { type ModelFailure, ModelSettingsInvalid } from "./failures.ts";
import { geminiModel } from "./gemini.ts";
import type { Fetch } from "./gemini-transport.ts";
import type { Notice } from "./notices.ts";
import { RETRY_DEFAULTS, withRetry } from "./retry.ts";
import type { Timers } from "./timers.ts";

type Shared = {
  readonly name: string;
  readonly model: string;
  readonly window: number;
  readonly stallMs: number;
  /** Served by the built-in simulator. */
  readonly simulated: boolean;
};

export type GeminiSettings = Shared & {
  readonly kind: "gemini";
  readonly issuer: "gemini-api" | "vertex";
  readonly baseUrl: string;
  readonly apiKey?: string;
  readonly headers: Readonly<Record<string, string>>;
};

export type BedrockSettings = Shared & {
  readonly kind: "bedrock";
  readonly region: string;
  /** Absent: the region's own. */
  readonly endpoint?: string;
};

/** One model route as the configuration gives it, already parsed. */
export type ProfileSettings = GeminiSettings | BedrockSettings;

export type ProfileDeps = {
  readonly newCallId: () => CallId;
  readonly notice?: Notice;
  readonly onFailure?: (failure: ModelFailure, model: string, attempt: 1 | 2) => void;
  readonly timers?: Timers;
  readonly random?: () => number;
  readonly now?: () => number;
  readonly fetch?: Fetch;
};

/**
 * The models of `profiles` in their order, each with its one retry. Throws `ModelSettingsInvalid` for an unintelligible
 * base URL, a name that is used twice, a mix of real and simulated routes, or none at all.
 */
export function modelsOf(profiles: readonly ProfileSettings[], deps: ProfileDeps): readonly [Model, ...Model[]] {
  const names = profiles.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new ModelSettingsInvalid(`two model profiles are called "${twice}"`);
  if (new Set(profiles.map(({ simulated }) => simulated)).size > 1) {
    throw new ModelSettingsInvalid("real and simulated model profiles can't be mixed");
  }
  const [first, ...others] = profiles.map((profile) =>
    withRetry(modelOf(profile, deps), { ...RETRY_DEFAULTS, ...deps }),
  );
  if (first === undefined) throw new ModelSettingsInvalid("there is no model profile");
  return [first, ...others];
}

const SIMULATED_CREDENTIALS = { accessKeyId: "simulated", secretAccessKey: "simulated" } as const;

function modelOf(profile: ProfileSettings, { newCallId, notice, timers, now, fetch }: ProfileDeps): Model {
  switch (profile.kind) {
    case "gemini": {
      const { kind: _, simulated: __, ...route } = profile;
      return geminiModel({
        ...route,
        newCallId,
        ...(notice && { notice }),
        ...(timers && { timers }),
        ...(now && { now }),
        ...(fetch && { fetch }),
      });
    }
    case "bedrock": {
      const { kind: _, simulated, ...route } = profile;
      return bedrockModel({
        ...route,
        // The simulator must not see the machine's own.
        ...(simulated && { credentials: SIMULATED_CREDENTIALS }),
        newCallId,
        ...(notice && { notice }),
        ...(timers && { timers }),
      });
    }
    default:
      return never(profile);
  }
}
