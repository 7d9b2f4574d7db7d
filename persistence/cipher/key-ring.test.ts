import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import { BadKeys, SealBroken, UnknownKey } from "./failures.ts";
import { loadOrMakeKeys } from "./key-file.ts";
import { keyRing } from "./key-ring.ts";
import { newDataKey } from "./session-cipher.ts";

const session = "00000000-0000-4000-8000-00000000000a";
const other = "00000000-0000-4000-8000-00000000000b";
const k1 = `k1:${randomBytes(32).toString("base64")}`;
const k2 = `k2:${randomBytes(32).toString("base64")}`;

const folders: string[] = [];
afterEach(async () => {
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })));
});

test("[H-06] rotation: old values open, new ones use the new key, re-wrapping frees the old key", () => {
  const before = keyRing(k1);
  const during = keyRing(`${k2},${k1}`);
  const after = keyRing(k2);
  const dataKey = newDataKey();

  const old = before.wrap(dataKey, session);
  expect([during.keyIdOf(old), during.needsRewrap(old)]).toEqual(["k1", true]);
  expect(during.unwrap(old, session)).toEqual(dataKey);

  const renewed = during.wrap(during.unwrap(old, session), session);
  expect([during.keyIdOf(renewed), during.needsRewrap(renewed)]).toEqual(["k2", false]);
  expect(after.unwrap(renewed, session)).toEqual(dataKey);
  expect(() => after.unwrap(old, session)).toThrow(UnknownKey);
  expect(() => after.unwrap(old, session)).toThrow(/needs key "k1"/);
});

test("[H-06] in a rolling deploy each configuration reads what the other wrote, once both hold both keys", () => {
  const oldNode = keyRing(`${k1},${k2}`);
  const newNode = keyRing(`${k2},${k1}`);
  const grant = oldNode.seal("cookie", ["grant", session]);
  const back = newNode.seal("cookie", ["grant", session]);
  expect([newNode.open(grant, ["grant", session]), oldNode.open(back, ["grant", session])]).toEqual([
    "cookie",
    "cookie",
  ]);
});

test("[H-06] key id and format version can be read without a key", () => {
  const wrapped = keyRing(k2).wrap(newDataKey(), session);
  expect([wrapped[0], wrapped[1], wrapped.toString("latin1", 2, 4)]).toEqual([1, 2, "k2"]);
  const future = Buffer.from(wrapped);
  future[0] = 9;
  expect(() => keyRing(k2).unwrap(future, session)).toThrow(/format version 9/);
});

test("[H-05] a wrapped data key opens for its own session only, a sealed text for its own names only", () => {
  const ring = keyRing(k1);
  const wrapped = ring.wrap(newDataKey(), session);
  expect(() => ring.unwrap(wrapped, other)).toThrow(SealBroken);
  const sealed = ring.seal("plan", ["plan", "p-1"]);
  expect(() => ring.open(sealed, ["plan", "p-2"])).toThrow(SealBroken);
  expect(() => ring.open(sealed, ["planp", "-1"])).toThrow(SealBroken);
  expect(() => ring.open(wrapped, ["dormouse/data-key", session])).toThrow(SealBroken);
  expect(() => ring.keyIdOf(Buffer.of(1, 2))).toThrow(SealBroken);
});

test("the same id with another key is noticed", () => {
  const wrapped = keyRing(k1).wrap(newDataKey(), session);
  const impostor = keyRing(`k1:${randomBytes(32).toString("base64")}`);
  expect(() => impostor.unwrap(wrapped, session)).toThrow(SealBroken);
});

test("any text comes back exactly", () => {
  const ring = keyRing(k1);
  const unit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
  fc.assert(
    fc.property(fc.string({ unit }), (text) => {
      expect(ring.open(ring.seal(text, ["t", text]), ["t", text])).toBe(text);
    }),
  );
});

test("every problem of the configured keys is told at once, and no part of the text", () => {
  const secret = randomBytes(32).toString("base64");
  const text = `${secret},${k1},:${secret},bad id:${secret},k9:c2hvcnQ=,k1:${secret}`;
  expect(problemOf(text)).toBe(
    [
      "ENCRYPTION_KEYS: entry 1: expected id:base64key",
      "entry 3: the id has 1 to 32 letters, digits, dots, dashes or underscores",
      "entry 4: the id has 1 to 32 letters, digits, dots, dashes or underscores",
      "entry 5: the key is 32 bytes in base64 (`openssl rand -base64 32`)",
      "entry 6: its id was given before",
    ].join("; "),
  );
  expect(problemOf("")).toBe("ENCRYPTION_KEYS: entry 1: expected id:base64key");
});

test("a ring shows no key when it is printed", () => {
  const key = k1.slice(3);
  const shown = `${inspect(keyRing(k1), { depth: 9, showHidden: true })}${JSON.stringify(keyRing(k1))}`;
  expect(shown).not.toContain(key.slice(0, 10));
  expect(shown).not.toContain(Buffer.from(key, "base64").toString("hex").slice(0, 12));
});

test("a local key is made once, is private, and is the same at the next start", async () => {
  const folder = await dataDir();
  const starts = await Promise.all(Array.from({ length: 20 }, () => loadOrMakeKeys(folder)));
  expect(starts.filter(({ made }) => made).length).toBe(1);
  expect(new Set(starts.map(({ keys }) => keys)).size).toBe(1);
  expect(await loadOrMakeKeys(folder)).toEqual({ keys: starts[0]?.keys, made: false });
  expect((await stat(join(folder, "keys"))).mode & 0o777).toBe(0o600);
  expect(keyRing(await readFile(join(folder, "keys"), "utf8")).activeId).toMatch(/^local-[0-9a-f]{8}$/);
});

test("a key file that others may read, or an empty one, is refused", async () => {
  const folder = await dataDir();
  await loadOrMakeKeys(folder);
  await chmod(join(folder, "keys"), 0o644);
  await expect(loadOrMakeKeys(folder)).rejects.toThrow(BadKeys);
  await chmod(join(folder, "keys"), 0o600);
  await writeFile(join(folder, "keys"), "");
  await expect(loadOrMakeKeys(folder)).rejects.toThrow(/is empty/);
});

async function dataDir(): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), "dormouse-keys-"));
  folders.push(parent);
  return join(parent, "data");
}

function problemOf(text: string): string {
  try {
    return keyRing(text).activeId;
  } catch (error) {
    return error instanceof BadKeys ? error.message : String(error);
  }
}
