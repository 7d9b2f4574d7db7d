/** Files in the page: picked, pasted, refused, removed, sent, in a real browser against a real server. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { processScene } from "../../runtime/testing/process.ts";
import { accessTree, nameless } from "./access.ts";
import { findChromium, launchChromium } from "./chromium.ts";
import { type Watch, watch } from "./watch.ts";

const chromium = findChromium();
if (chromium === undefined)
  process.stderr.write("skipped: files in the page need Chromium on the path or in CHROMIUM\n");

/** One red pixel. */
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/q842iQAAAABJRU5ErkJggg==";
const file = (name: string, mimeType: string, bytes: string | Buffer) => ({
  name,
  mimeType,
  buffer: Buffer.from(bytes),
});
const png = (name: string) => file(name, "image/png", Buffer.from(PIXEL, "base64"));

describe.skipIf(chromium === undefined)("files in the console", () => {
  const scene = processScene();
  let browser: Browser;
  let page: Page;
  let seen: Watch;

  beforeAll(async () => {
    browser = await launchChromium(chromium ?? "");
    const server = await scene.start();
    page = await browser.newPage({ viewport: { width: 1200, height: 860 }, reducedMotion: "reduce" });
    page.setDefaultTimeout(20_000);
    seen = await watch(page);
    await page.goto(`${server.url}/login?user=dr-rivera`);
  });
  afterAll(async () => {
    await browser?.close();
    await scene.clean();
  });

  const at = (id: string) => page.getByTestId(id);
  const chips = (state: string) => page.locator(`[data-testid=attachment][data-state=${state}]`);
  const sendable = () => at("send").isEnabled();

  test("a file is picked before the first word; it shows its picture and goes with the message", async () => {
    await at("message-input").waitFor();
    await at("attach-input").setInputFiles([png("label.png"), file("note.txt", "text/plain", "twice a day")]);
    await chips("there").nth(1).waitFor();
    const width = await page.evaluate(`{
      const image = document.querySelector(".attachments img");
      image.decode().then(() => image.naturalWidth);
    }`);
    expect([width, await chips("there").allInnerTexts(), await sendable(), nameless(await accessTree(page))]).toEqual([
      1,
      ["label.png\n1 KB", "note.txt\n1 KB"],
      true,
      [],
    ]);
    await at("send").click();
    await page.locator("[data-testid=turn][data-outcome=completed]").waitFor();
    expect(await at("block-text").textContent()).toMatch(
      /^I received a PNG image of \d+ bytes and a text file of 11 bytes\./,
    );
    expect([await at("files").textContent(), await at("attachment").count()]).toEqual(["2 files", 0]);
    expect(seen.takeErrors()).toEqual([]);
  });

  test("what can't be attached says why and keeps the message back until it is removed", async () => {
    await at("message-input").fill("What is this?");
    await at("attach-input").setInputFiles([
      file("page.svg", "image/svg+xml", "<svg/>"),
      file("scan.pdf", "application/pdf", Buffer.alloc(10_485_761, 32)),
      file("fake.png", "image/png", "no picture"),
    ]);
    await chips("failed").nth(2).waitFor();
    expect([await chips("failed").locator(".problem").allInnerTexts(), await sendable()]).toEqual([
      [
        "Only images (PNG, JPEG, WebP, GIF), PDF and plain text can be attached.",
        "Larger than 10.0 MB.",
        "the file is not image/png, as it claims",
      ],
      false,
    ]);
    for (const name of ["page.svg", "scan.pdf", "fake.png"]) await page.getByLabel(`Remove ${name}`).click();
    expect([await at("attachment").count(), await sendable()]).toEqual([0, true]);
    // The browser tells of every refusal by itself.
    expect(seen.takeErrors().filter((line) => !line.includes("415"))).toEqual([]);
  });

  test("an image is pasted, and another one dropped", async () => {
    await page.evaluate(`{
      const bytes = Uint8Array.from(atob("${PIXEL}"), (sign) => sign.charCodeAt(0));
      const holding = (name) => {
        const data = new DataTransfer();
        data.items.add(new File([bytes], name, { type: "image/png" }));
        return data;
      };
      const field = document.querySelector("[data-testid=message-input]");
      field.dispatchEvent(new ClipboardEvent("paste", { clipboardData: holding("pasted.png"), bubbles: true }));
      const drop = { dataTransfer: holding("dropped.png"), bubbles: true, cancelable: true };
      field.dispatchEvent(new DragEvent("dragover", drop));
      field.dispatchEvent(new DragEvent("drop", drop));
    }`);
    await chips("there").nth(1).waitFor();
    expect(await chips("there").locator(".name").allInnerTexts()).toEqual(["pasted.png", "dropped.png"]);
    await page.screenshot({ path: process.env["SHOT"] ?? "/dev/null", type: "png" });
    await at("send").click();
    await page.locator("[data-testid=turn][data-outcome=completed]").nth(1).waitFor();
    expect([await at("files").last().textContent(), seen.takeErrors()]).toEqual(["2 files", []]);
  });
});
