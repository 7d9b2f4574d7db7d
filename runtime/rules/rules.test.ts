import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { packageRoot } from "../../skills/package-root.ts";
import { drifted } from "../observe/draw-machines.ts";
import { isTest, type Source, sources } from "./sources.ts";

const LAYERS = ["machines", "skills", "tools", "persistence", "runtime", "evals", "bench"];
const ROOTS = ["runtime/main.ts", "runtime/worker.ts"];
const folderOf = (path: string) => path.split("/")[0] ?? "";
const rank = (path: string) => LAYERS.indexOf(folderOf(path));

const all = sources();
const product = all.filter(({ path }) => !isTest(path));
const importsOf = (source: Source) =>
  source.imports.flatMap(({ target }) => (target === undefined ? [] : [`${source.path} -> ${target}`]));
/** Files that import a package, types aside. */
const usersOf = (name: string) =>
  product
    .filter(({ imports }) =>
      imports.some((one) => !one.typeOnly && (one.names === name || one.names.startsWith(`${name}/`))),
    )
    .map(({ path }) => path);

describe("import rules", () => {
  test("[AR1] imports only point left: machines, skills, tools, persistence, runtime, evals, bench", () => {
    const right = product
      .filter(({ path }) => rank(path) >= 0 && !ROOTS.includes(path))
      .flatMap((source) => source.imports.flatMap(({ target }) => (target ? [{ from: source.path, target }] : [])))
      .filter(
        ({ from, target }) => rank(target) > rank(from) || target === "assist.config.ts" || ROOTS.includes(target),
      )
      .filter(({ from, target }) => !(folderOf(from) === "bench" && target === "assist.config.ts"))
      .map(({ from, target }) => `${from} -> ${target}`);
    expect(right).toEqual([]);
  });

  test("[AR2] the agent file takes machines, skills and tools; the client takes the protocol and itself", () => {
    const agent = product.find(({ path }) => path === "assist.config.ts");
    const fromAgent = (agent?.imports ?? []).flatMap(({ target }) => (target ? [folderOf(target)] : []));
    expect(fromAgent.filter((folder) => !["machines", "skills", "tools"].includes(folder))).toEqual([]);
    const client = product.filter(({ path }) => folderOf(path) === "client").flatMap(importsOf);
    const foreign = client.filter(
      (one) => !/ -> (client\/|machines\/protocol\/|machines\/(failure|ids)\.ts)/.test(one),
    );
    expect(foreign).toEqual([]);
  });

  test("[AR3] a package that is dangerous or heavy has one importer", () => {
    expect(usersOf("uWebSockets.js").filter((path) => !/^(runtime\/gateway|bench)\//.test(path))).toEqual([]);
    expect(
      usersOf("@google/genai").filter((path) => !/^(runtime\/models\/gemini[\w-]*\.ts|bench\/)/.test(path)),
    ).toEqual([]);
    const claude = /^(runtime\/models\/bedrock[\w-]*\.ts|bench\/)/;
    expect(usersOf("@aws-sdk/client-bedrock-runtime").filter((path) => !claude.test(path))).toEqual([]);
    expect(
      usersOf("@xstate/store").filter((path) => !/^(client\/store\.ts|runtime\/models\/health)/.test(path)),
    ).toEqual([]);
    expect(usersOf("postgres").filter((path) => !/^(persistence|tools\/platform|bench)\//.test(path))).toEqual([]);
  });

  test("[AR4] machines are pure: xstate and zod only, no clock, no randomness, no I/O", () => {
    const pure = product.filter(({ path }) => folderOf(path) === "machines");
    const packages = pure.flatMap(({ path, imports }) =>
      imports
        .filter(
          ({ target, typeOnly, names }) => target === undefined && !typeOnly && !/^(xstate|zod)(\/|$)/.test(names),
        )
        .map(({ names }) => `${path} -> ${names}`),
    );
    const effects = pure.filter(({ text }) =>
      /\b(Date\.now|new Date\(\)|Math\.random|setTimeout|setInterval|fetch\()/.test(text),
    );
    expect([packages, effects.map(({ path }) => path)]).toEqual([[], []]);
  });

  test("[AR5] the environment is read in the composition roots and nowhere else", () => {
    const readers = product.filter(({ text }) => /\bprocess\.env\b/.test(text)).map(({ path }) => path);
    // The embedded server's children get a bare environment with our PATH and nothing else.
    const entries = /^(persistence\/embedded\/account\.ts|runtime\/(main|worker)\.ts|bench\/|evals\/|client\/)/;
    expect(readers.filter((path) => !entries.test(path))).toEqual([]);
  });
});

describe("pages", () => {
  test("[AR6] what docs/ generates from code is what the code gives now (npm run machines)", () => {
    expect(drifted()).toEqual([]);
  });

  test("[AR7] every folder has a README under 60 lines", () => {
    const root = packageRoot();
    const folders = [...LAYERS, "client", "deploy", "docs"];
    const missing = folders.filter((folder) => !existsSync(join(root, folder, "README.md")));
    const long = readmes().filter(({ text }) => text.trimEnd().split("\n").length >= 60);
    expect([missing, long.map(({ path }) => path)]).toEqual([[], []]);
  });

  test("[AR8] every rule id of a README's table stands in a test's name", () => {
    const names = new Map<string, string>();
    for (const { path, text } of all.filter((source) => /\.(test|contract)\.tsx?$/.test(source.path))) {
      names.set(folderOf(path), `${names.get(folderOf(path)) ?? ""}\n${text}`);
    }
    const untested = readmes().flatMap(({ path, text }) =>
      ruleIds(text)
        .filter((id) => !new RegExp(`\\b${id}\\b`).test(names.get(folderOf(path)) ?? ""))
        .map((id) => `${path}: ${id}`),
    );
    expect(untested).toEqual([]);
  });

  test("[AR9] every case that this version settles has a test that bears its id", () => {
    const settled = readFileSync(join(packageRoot(), "docs", "cases.md"), "utf8").match(/\b[A-J]-\d{2}\b/g) ?? [];
    const tests = all.filter(({ path }) => /\.(test|contract)\.tsx?$/.test(path)).map(({ text }) => text);
    const bears = (id: string) =>
      tests.some((text) =>
        new RegExp(`(test|describe|it)(\\.\\w+)?(\\([^)]*\\))?\\(\\s*[\`"'][^\`"']*${id}`).test(text),
      );
    expect(settled.length).toBeGreaterThan(20);
    expect([...new Set(settled)].filter((id) => !bears(id))).toEqual([]);
  });
});

function readmes(): readonly { readonly path: string; readonly text: string }[] {
  const root = packageRoot();
  const names = [...LAYERS, "client", "deploy", "docs"].flatMap((folder) =>
    existsSync(join(root, folder))
      ? readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name))
      : [],
  );
  const pages = names.filter((name) => name.endsWith("README.md") && !name.includes("platform/data"));
  return pages.map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
}

/** Ids in the first column of a README's tables: `AR1`, `PF-20`. */
function ruleIds(text: string): readonly string[] {
  const rows = text.split("\n").filter((line) => line.startsWith("|"));
  return rows.flatMap((row) => row.split("|")[1]?.match(/\b[A-Z]{2}-?\d+\b/g) ?? []);
}
