/**
 * Takes pictures of the built page: `npx tsx client/testing/look.ts <folder>`, after
 * `npx vite build --config client/console/vite.config.ts`. CHROMIUM names another browser than /usr/bin/chromium.
 */
import { readFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { extname, join, normalize } from "node:path";
import { chromium, type Page } from "playwright-core";
import { demoAnswer } from "./demo-answers.ts";
import { fakeServer } from "./fake-server.ts";

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'";

async function page(path: string, response: ServerResponse): Promise<void> {
  const name = path === "/" ? "/index.html" : normalize(path);
  const body = await readFile(join("dist/console", name)).catch(() => undefined);
  response.writeHead(body ? 200 : 404, {
    "content-type": types[extname(name)] ?? "text/plain",
    "content-security-policy": policy,
  });
  response.end(body);
}

const folder = process.argv[2] ?? "/tmp";
const server = await fakeServer({ answer: demoAnswer, pace: 8, page });
const browser = await chromium.launch({
  executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
const complaints: string[] = [];

async function shoot(
  name: string,
  options: { dark?: boolean; narrow?: boolean },
  visit: (tab: Page, snap: (what: string) => Promise<void>) => Promise<void>,
) {
  const context = await browser.newContext({
    colorScheme: options.dark ? "dark" : "light",
    viewport: options.narrow ? { width: 390, height: 780 } : { width: 1200, height: 860 },
  });
  const tab = await context.newPage();
  tab.on("console", (line) => {
    if (line.type() === "error" && !line.text().includes("401")) complaints.push(`${name}: ${line.text()}`);
  });
  tab.on("pageerror", (error) => complaints.push(`${name}: ${error.message}`));
  await tab.goto(server.url);
  await visit(tab, async (what) => void (await tab.screenshot({ path: join(folder, `${name}-${what}.png`) })));
  await context.close();
}

async function say(tab: Page, text: string): Promise<void> {
  await tab.getByTestId("message-input").fill(text);
  await tab.getByTestId("message-input").press("Enter");
}
const ended = (tab: Page, outcome: string) =>
  tab.locator(`[data-testid=turn][data-outcome=${outcome}]`).last().waitFor();

try {
  for (const [name, options] of [
    ["light", {}],
    ["dark", { dark: true }],
    ["narrow", { narrow: true }],
  ] as const) {
    await shoot(name, options, async (tab, snap) => {
      await tab.getByTestId("login-dr-rivera").waitFor();
      await snap("1-login");
      await tab.getByTestId("login-dr-rivera").click();
      await tab.getByTestId("message-input").waitFor();
      await snap("2-empty");
      await tab.getByTestId("patient-input").fill("pat-008");
      await say(tab, "Show all of it for Gideon Saltmarsh");
      await tab.getByTestId("block-text").first().waitFor();
      await snap("3-streaming");
      await ended(tab, "completed");
      await tab.getByTestId("card-recommend_supplements").scrollIntoViewIfNeeded();
      await snap("4-cards");
      await tab.getByTestId("card-citations").scrollIntoViewIfNeeded();
      await snap("5-more-cards");
      await say(tab, "please fail");
      await ended(tab, "failed");
      await snap("6-failed");
      await say(tab, "a slow one");
      await tab.getByTestId("stop").waitFor();
      await say(tab, "and this next");
      await tab.getByTestId("queue").waitFor();
      await snap("7-queue");
      server.cut(1012);
      await tab.getByText("Reconnecting").waitFor();
      await snap("8-reconnecting");
      await tab.getByText("Connected", { exact: true }).waitFor();
      await tab.getByTestId("stop").click();
      await ended(tab, "completed");
      await tab.reload();
      await tab.getByTestId("card-recommend_supplements").first().waitFor();
      await snap("9-reloaded");
      if (options && "narrow" in options) await tab.getByRole("button", { name: "Conversations" }).click();
      await tab
        .getByRole("button", { name: /^Delete/ })
        .first()
        .click();
      await tab.getByTestId("confirm-delete").waitFor();
      await snap("10-delete");
      await tab.getByTestId("confirm-delete").click();
      await tab.getByTestId("session-item").waitFor({ state: "detached" });
    });
  }
} finally {
  await browser.close();
  await server.close();
}
console.log(complaints.length === 0 ? "no complaints" : complaints.join("\n"));
