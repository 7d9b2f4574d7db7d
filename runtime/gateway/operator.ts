import { createHash, timingSafeEqual } from "node:crypto";

/** Whether an `Authorization` header carries the operator's token. Takes the same time for every wrong one. */
export function operatorCheck(token: string | undefined): (authorization: string) => boolean {
  if (token === undefined) return () => false;
  const expected = digest(`Bearer ${token}`);
  return (authorization) => timingSafeEqual(digest(authorization.replace(/^bearer /i, "Bearer ")), expected);
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
