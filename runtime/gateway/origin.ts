import { isIP } from "node:net";

export type OriginCheck = (origin: string) => boolean;

/** Exact comparison of scheme, host and port. An absent origin (empty text) passes only for non-browser clients. */
export function originCheck(origins: readonly string[], allowNoOrigin: boolean): OriginCheck {
  const allowed = new Set(origins);
  return (origin) => (origin === "" ? allowNoOrigin : allowed.has(origin));
}

const LOCAL = new Set(["localhost", "127.0.0.1", "::1", "0.0.0.0", "::"]);

/** The addresses under which a browser on this machine may have opened the console. */
export function ownOrigins(host: string, port: number): readonly string[] {
  const names = LOCAL.has(host) ? ["localhost", "127.0.0.1", "[::1]"] : [urlHost(host)];
  return names.map((name) => new URL(`http://${name}:${port}`).origin);
}

export const urlHost = (host: string): string => (isIP(host) === 6 ? `[${host}]` : host);

/** Where a person on this machine opens a server that listens on `host`. */
export function ownUrl(host: string, port: number): string {
  const reachable = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : urlHost(host);
  return `http://${reachable}:${port}`;
}
