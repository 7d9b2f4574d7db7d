import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { loadDataset } from "./catalog/dataset.ts";
import { TOOL_DEFINITIONS } from "./mcp/tool-definitions.ts";
import { platformPath, readPlatformFile } from "./package-files.ts";

test("[PF-01] the data pass their own consistency check", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [platformPath("data/check.mjs")]);
  expect(stdout.trim().split("\n").at(-1)).toBe("no faults");
});

test("[PF-02] the data set is read whole", () => {
  const sizes = Object.fromEntries(Object.entries(loadDataset()).map(([name, records]) => [name, records.length]));
  expect(sizes).toEqual({
    articles: 25,
    evidence: 156,
    interactions: 167,
    labs: 47,
    negatives: 13,
    patients: 12,
    products: 135,
    supplements: 56,
    visitNotes: 12,
  });
});

test("[PF-03] the LOINC notice travels with the data", () => {
  expect(readPlatformFile("data/README.md")).toContain("LOINC codes are (c) Regenstrief Institute, Inc.");
});

test("[PF-04] every query file has one definition and every definition one query file", () => {
  const files = readdirSync(platformPath("tools")).map((file) => file.replace(/\.gql$/, ""));
  expect(files.sort()).toEqual(TOOL_DEFINITIONS.map(({ name }) => name).sort());
});
