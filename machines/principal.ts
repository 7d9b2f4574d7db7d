import type { UserId } from "./ids.ts";

/** Who is behind a socket, as the platform resolved it from the caller's own cookie (PROTOCOL.md, platform contract). */
export type Principal = {
  readonly userId: UserId;
  readonly name: string;
  readonly flags: readonly string[];
  readonly preferences: Readonly<Record<string, unknown>>;
  /** When the login ends by itself, in milliseconds since the epoch; absent when the platform does not say. */
  readonly expiresAt?: number;
};

/** The caller's `cookie` header. Opaque; never logged, never stored unless sealed (a grant). */
export type Credential = { readonly cookie: string };
