import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { expect, test } from "vitest";
import { loadUws, NativeServerMissing, nativeFile } from "./uws.ts";

test("the native server that loads here is byte for byte the one that was reviewed", () => {
  const lines = readFileSync(new URL("uws.sha256", import.meta.url), "utf8")
    .trim()
    .split("\n");
  const reviewed = new Map(lines.map((line) => line.split(/\s+/).reverse() as [string, string]));
  const file = nativeFile();
  expect(loadUws()).toHaveProperty("App");
  expect(reviewed.get(basename(file))).toBe(createHash("sha256").update(readFileSync(file)).digest("hex"));
});

test("a binary that does not load says which Node and glibc are here and what helps", () => {
  const cause = new Error("GLIBC_2.38 not found");
  const load = () =>
    loadUws(() => {
      throw cause;
    });
  expect(load).toThrow(NativeServerMissing);
  expect(load).toThrow(
    process.platform === "linux"
      ? /Node \d+\.\d+\.\d+ on linux .*(glibc 2\.\d+.*older than 2\.38 only Node 20|needs a Linux with glibc)/
      : /has no binary that loads with Node/,
  );
  expect(load).toThrow(expect.objectContaining({ cause }));
});
