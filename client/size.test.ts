import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build, type Rolldown } from "vite";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

/** An entry as a bundler ships it: minified, with everything of ours in it and packages left outside. */
async function bundle(entry: string) {
  const built = await build({
    root,
    configFile: false,
    logLevel: "silent",
    build: {
      write: false,
      minify: true,
      lib: { entry: `client/${entry}`, formats: ["es"], fileName: "bundle" },
      rollupOptions: { external: (id) => !/^[./\0]/.test(id) },
    },
  });
  const [output] = [built].flat() as Rolldown.RolldownOutput[];
  const chunks = (output?.output ?? []).flatMap((one) => (one.type === "chunk" ? [one] : []));
  const ours = chunks.flatMap((chunk) => Object.keys(chunk.modules)).map((path) => relative(root, path));
  return {
    gzipped: gzipSync(chunks.map(({ code }) => code).join("")).length,
    packages: [...new Set(chunks.flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports]))].sort(),
    foreign: ours.filter((path) => !/^(client\/[\w-]+\.ts|machines\/(protocol\/[\w-]+|failure)\.ts)$/.test(path)),
    ours: ours.length,
  };
}

test("the library is at most 15 KB gzipped beside zod, and takes nothing but the protocol and zod", async () => {
  const { gzipped, packages, foreign, ours } = await bundle("client.ts");
  expect({ packages, foreign }).toEqual({ packages: ["zod"], foreign: [] });
  expect(ours).toBeGreaterThan(15);
  expect(gzipped).toBeLessThanOrEqual(15_000);
});

test("the store is an entry of its own: @xstate/store and the reducer, at most 6 KB gzipped beside them and zod", async () => {
  const { gzipped, packages, foreign } = await bundle("store.ts");
  expect({ packages, foreign }).toEqual({ packages: ["@xstate/store", "zod"], foreign: [] });
  expect(gzipped).toBeLessThanOrEqual(6_000);
});
