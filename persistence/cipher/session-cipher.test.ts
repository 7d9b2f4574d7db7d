import { deflateRawSync } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { SealBroken, SealTooLarge } from "./failures.ts";
import { MAX_PLAIN_BYTES, pack, unpack } from "./packing.ts";
import { associated, type Place } from "./place.ts";
import { newDataKey, sessionCipher } from "./session-cipher.ts";

const sessionA = "00000000-0000-4000-8000-00000000000a";
const sessionB = "00000000-0000-4000-8000-00000000000b";
const place: Place = { table: "blocks", column: "body", row: "turn-1" };

/** Every UTF-16 unit there is: control characters and lone surrogates too. */
const anyString = fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) });

test("[H-05] a sealed value opens at its own place only", () => {
  const dataKey = newDataKey();
  const cipher = sessionCipher(dataKey, sessionA);
  const sealed = cipher.seal(place, { text: "hello" });
  const elsewhere: [string, () => unknown][] = [
    ["another row", () => cipher.open({ ...place, row: "turn-2" }, sealed)],
    ["another column", () => cipher.open({ ...place, column: "head" }, sealed)],
    ["another table", () => cipher.open({ ...place, table: "entries" }, sealed)],
    ["another session with a key of its own", () => sessionCipher(newDataKey(), sessionB).open(place, sealed)],
    ["another session with the same key", () => sessionCipher(dataKey, sessionB).open(place, sealed)],
  ];
  expect(cipher.open(place, sealed)).toEqual({ text: "hello" });
  expect(elsewhere.map(([name, read]) => [name, codeOf(read)])).toEqual(elsewhere.map(([name]) => [name, "integrity"]));
});

test("[H-05] sealed bytes open as bytes at their own place only, and never as a value", () => {
  const dataKey = newDataKey();
  const cipher = sessionCipher(dataKey, sessionA);
  const bytes = Buffer.from([0, 255, 1, 128]);
  const sealed = cipher.sealBytes(place, bytes);
  expect([cipher.openBytes(place, sealed), sealed.includes(bytes)]).toEqual([bytes, false]);
  const changed = Buffer.from(sealed);
  changed[sealed.length - 1] = (changed[sealed.length - 1] ?? 0) ^ 1;
  const refused: (() => unknown)[] = [
    () => cipher.openBytes({ ...place, row: "turn-2" }, sealed),
    () => sessionCipher(dataKey, sessionB).openBytes(place, sealed),
    () => sessionCipher(newDataKey(), sessionA).openBytes(place, sealed),
    () => cipher.openBytes(place, changed),
    () => cipher.open(place, cipher.sealBytes(place, pack(Buffer.from('"text"')))),
    () => cipher.openBytes(place, cipher.seal(place, "text")),
  ];
  expect(refused.map(codeOf)).toEqual(refused.map(() => "integrity"));
});

test("[H-05] two different places never have the same associated data", () => {
  const names = fc.array(anyString, { maxLength: 6 });
  fc.assert(
    fc.property(names, names, (one, other) => {
      expect(associated(one).equals(associated(other))).toBe(JSON.stringify(one) === JSON.stringify(other));
    }),
    { numRuns: 2_000 },
  );
  const alike = [["ab", "c"], ["a", "bc"], ["abc"], ["abc", ""], ["", "abc"], ["\ud800"], ["\udfff"], ["\ufffd"]];
  expect(new Set(alike.map((list) => associated(list).toString("hex"))).size).toBe(alike.length);
});

test("[H-05] any changed, missing or added byte is noticed, and the message holds the place but no content", () => {
  const cipher = sessionCipher(newDataKey(), sessionA);
  const sealed = cipher.seal(place, "the secret text");
  for (let at = 0; at < sealed.length; at += 1) {
    const changed = Buffer.from(sealed);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect([at, codeOf(() => cipher.open(place, changed))]).toEqual([at, "integrity"]);
    expect([at, codeOf(() => cipher.open(place, sealed.subarray(0, at)))]).toEqual([at, "integrity"]);
  }
  expect(codeOf(() => cipher.open(place, Buffer.concat([sealed, Buffer.of(0)])))).toBe("integrity");
  expect(messageOf(() => cipher.open({ ...place, row: "turn-2" }, sealed))).toBe(
    `sealed value at blocks.body [turn-2] of session ${sessionA} cannot be trusted: it was changed, or sealed for another place`,
  );
});

test("a shortened tag is refused, though its bytes are right", () => {
  const cipher = sessionCipher(newDataKey(), sessionA);
  const sealed = cipher.seal(place, "");
  const head = 2 + (sealed[1] ?? 0) + 12;
  const short = Buffer.concat([sealed.subarray(0, head + 12), sealed.subarray(head + 16)]);
  expect(codeOf(() => cipher.open(place, short))).toBe("integrity");
});

test("every string and JSON value comes back exactly, and equal values seal differently", () => {
  const cipher = sessionCipher(newDataKey(), sessionA);
  const value = fc.oneof(anyString, fc.jsonValue(), fc.array(anyString), fc.dictionary(anyString, anyString));
  fc.assert(
    fc.property(value, (given) => {
      const json = JSON.parse(JSON.stringify(given));
      const sealed = cipher.seal(place, given);
      expect(cipher.open(place, sealed)).toEqual(json);
      expect(sealed.equals(cipher.seal(place, given))).toBe(false);
    }),
    { numRuns: 1_000 },
  );
  const odd = [
    "",
    "\0",
    "\u0001\u001f",
    "\ud800",
    "\udc00\ud800",
    "a\ufeffb",
    "\u2028",
    "é".normalize("NFD"),
    "x".repeat(1e6),
  ];
  expect(odd.map((text) => cipher.open(place, cipher.seal(place, text)))).toEqual(odd);
});

test("the text is nowhere in the sealed bytes, and repetitive text is stored small", () => {
  const cipher = sessionCipher(newDataKey(), sessionA);
  const sealed = cipher.seal(place, "magnesium ".repeat(1_000));
  expect(sealed.includes("magnesium")).toBe(false);
  expect(sealed.length).toBeLessThan(300);
});

test("a value that inflates past the limit is refused before it fills the memory", () => {
  const bomb = Buffer.concat([Buffer.of(1), deflateRawSync(Buffer.alloc(1_000_000))]);
  expect(() => unpack(bomb, 10_000)).toThrow(RangeError);
  expect(() => unpack(pack(Buffer.alloc(10_001, "ab")), 10_000)).toThrow(RangeError);
  expect(unpack(pack(Buffer.alloc(10_000, "ab")), 10_000).length).toBe(10_000);
  expect(() => pack(Buffer.alloc(MAX_PLAIN_BYTES + 1))).toThrow(SealTooLarge);
});

test("a value sealed from its JSON opens as the value itself", () => {
  const cipher = sessionCipher(newDataKey(), sessionA);
  for (const value of [null, "", { text: "naïve \ud800" }, Array.from({ length: 500 }, (_, n) => ({ n }))])
    expect(cipher.open(place, cipher.sealJson(place, JSON.stringify(value)))).toEqual(value);
});

test("what was deflated with the widest window still opens", () => {
  const plain = Buffer.from("magnesium ".repeat(100));
  expect(unpack(Buffer.concat([Buffer.of(1), deflateRawSync(plain)]))).toEqual(plain);
  expect(pack(plain).length).toBeLessThan(60);
});

test("values that JSON cannot hold are a bug of the caller", () => {
  const cipher = sessionCipher(newDataKey(), sessionA);
  expect(() => cipher.seal(place, undefined)).toThrow(TypeError);
});

test("a piece has one name within its session, and another one in the next session", () => {
  const dataKey = newDataKey();
  const name = (session: string, text: string) =>
    sessionCipher(dataKey, session).hmac(Buffer.from(text)).toString("hex");
  expect(name(sessionA, "prompt")).toBe(name(sessionA, "prompt"));
  expect(new Set([name(sessionA, "prompt"), name(sessionB, "prompt"), name(sessionA, "other")]).size).toBe(3);
});

function codeOf(read: () => unknown): string {
  try {
    read();
    return "opened";
  } catch (error) {
    return error instanceof SealBroken ? error.code : String(error);
  }
}

function messageOf(read: () => unknown): string {
  try {
    return String(read());
  } catch (error) {
    return (error as Error).message;
  }
}
