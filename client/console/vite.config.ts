import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const root = fileURLToPath(new URL(".", import.meta.url));

/** Nothing is inlined, so that the page runs under `script-src 'self'; style-src 'self'`. */
export default defineConfig({
  root,
  base: "/",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../../dist/console",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: {
    proxy: {
      "/v1": { target: "http://127.0.0.1:8787", ws: true },
      "/login": "http://127.0.0.1:8787",
    },
  },
});
