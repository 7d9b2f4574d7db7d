import { build } from "vite";
import { findChromium } from "./chromium.ts";

/** The servers of the browser tests hand out dist/console: once, before any of them starts, it is made from these sources. */
export async function setup(): Promise<void> {
  if (findChromium() === undefined) return;
  await build({ configFile: "client/console/vite.config.ts", logLevel: "warn" });
}
