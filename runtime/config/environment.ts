import { Secret } from "./secret.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Typed reads of single variables. A bad one adds a line to `problems` and reads as its fallback. Empty is unset. */
export type Reader = {
  readonly problems: readonly string[];
  text(name: string): string | undefined;
  flag(name: string, fallback: boolean): boolean;
  number(name: string, fallback: number, max?: number): number;
  oneOf<T extends string>(name: string, values: readonly T[], fallback: T): T;
  url(name: string, schemes: readonly string[]): string | undefined;
  parsed<T>(name: string, takes: string, parse: (text: string) => T | undefined): T | undefined;
  secret(name: string, isGood: (text: string) => boolean, takes: string): Secret | undefined;
  secretUrl(name: string, schemes: readonly string[]): Secret | undefined;
  /** Adds the line of a variable whose value is well formed and still not acceptable. */
  refuse(name: string, takes: string): void;
};

const SECRETS =
  /^(DATABASE_URL|DATABASE_DIRECT_URL|REDIS_URL|ENCRYPTION_KEYS|OPERATOR_TOKEN|GEMINI_API_KEY|GEMINI_HEADERS)$/;
const FLAGS: Readonly<Record<string, boolean>> = {
  "1": true,
  on: true,
  true: true,
  "0": false,
  off: false,
  false: false,
};

export function environment(env: Environment): Reader {
  const problems = new Map<string, string>();
  const text = (name: string): string | undefined => {
    const value = env[name]?.trim();
    return value === "" ? undefined : value;
  };
  const refuse = (name: string, takes: string): void => {
    if (!problems.has(name)) problems.set(name, `${name}: takes ${takes}; got ${shown(name, text(name))}`);
  };
  const parsed = <T>(name: string, takes: string, parse: (value: string) => T | undefined): T | undefined => {
    const value = text(name);
    if (value === undefined) return undefined;
    const result = parse(value);
    if (result === undefined) refuse(name, takes);
    return result;
  };
  const secret: Reader["secret"] = (name, isGood, takes) =>
    parsed(name, takes, (value) => (isGood(value) ? new Secret(value) : undefined));
  const takesUrl = (schemes: readonly string[]) => `a ${schemes.map((scheme) => `${scheme}//`).join(" or ")} URL`;
  return {
    get problems() {
      return [...problems.values()];
    },
    text,
    refuse,
    parsed,
    secret,
    flag: (name, fallback) => parsed(name, "1 or 0", (value) => FLAGS[value.toLowerCase()]) ?? fallback,
    number: (name, fallback, max = 2_147_483_647) =>
      parsed(name, `a whole number from 0 to ${max}`, (value) =>
        /^\d{1,10}$/.test(value) && Number(value) <= max ? Number(value) : undefined,
      ) ?? fallback,
    oneOf: (name, values, fallback) =>
      parsed(name, values.join(", "), (value) => values.find((known) => known === value)) ?? fallback,
    url: (name, schemes) =>
      parsed(name, `${takesUrl(schemes)} without user, query or fragment`, (value) => plainUrl(value, schemes)),
    secretUrl: (name, schemes) => secret(name, (value) => hasScheme(value, schemes), takesUrl(schemes)),
  };
}

function hasScheme(text: string, schemes: readonly string[]): boolean {
  return URL.canParse(text) && schemes.includes(new URL(text).protocol);
}

function plainUrl(text: string, schemes: readonly string[]): string | undefined {
  if (!hasScheme(text, schemes)) return undefined;
  const { username, password, search, hash } = new URL(text);
  return username + password + search + hash === "" ? text.replace(/\/+$/, "") : undefined;
}

/** What a message may show of a value: of a secret only that it is there, of a URL neither user nor query. */
function shown(name: string, value: string | undefined): string {
  if (value === undefined) return "nothing";
  if (SECRETS.test(name)) return `set, ${value.length} characters`;
  const harmless = value
    .replace(/\/\/[^/@]*@/, "//…@")
    .replace(/[?#].*$/s, "?…")
    .replace(/\p{Cc}/gu, "·");
  return JSON.stringify(harmless.length > 100 ? `${harmless.slice(0, 100)}…` : harmless);
}
