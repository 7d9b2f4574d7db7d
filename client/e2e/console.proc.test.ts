/** The page in a real browser against a real server: what a clinician does with it, in order, in one tab. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Simulator, startSimulator } from "../../evals/simulator/simulator.ts";
import { processScene, type Server } from "../../runtime/testing/process.ts";
import { accessTree, faintText, nameless, sidewaysScroll } from "./access.ts";
import { findChromium, launchChromium } from "./chromium.ts";
import { recordAnswer, recorded, type Watch, watch } from "./watch.ts";

const QUESTION = "Recommend a magnesium for Marisol Vantreight";
const chromium = findChromium();
if (chromium === undefined) {
  const reason = "the browser tests need Chromium on the path, or its file in CHROMIUM; none was found";
  if (process.env["CI"]) throw new Error(reason);
  process.stderr.write(`skipped: ${reason}\n`);
}

/** A port that a second server can take over at once, which one that the system chose at `listen` is not. */
async function freePort(): Promise<string> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return String(port);
}

describe.skipIf(chromium === undefined)("the console in Chromium", () => {
  const scene = processScene();
  let simulator: Simulator;
  let server: Server;
  let port: string;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let seen: Watch;

  beforeAll(async () => {
    simulator = await startSimulator();
    port = await freePort();
    browser = await launchChromium(chromium ?? "");
    server = await scene.start({ PORT: port });
    context = await browser.newContext({ viewport: { width: 1200, height: 860 }, reducedMotion: "reduce" });
    page = await context.newPage();
    page.setDefaultTimeout(20_000);
    seen = await watch(page);
  });
  afterAll(async () => {
    await browser?.close();
    await scene.clean();
    await simulator?.close();
  });
  let broken = false;
  beforeEach(({ skip }) => skip(broken, "an earlier step of this tab failed"));
  afterEach(({ task }) => {
    broken ||= task.result?.state === "fail";
    if (!broken) expect(seen.takeErrors()).toEqual([]);
  });

  const at = (id: string) => page.getByTestId(id);
  const turns = (outcome: string) => page.locator(`[data-testid=turn][data-outcome=${outcome}]`);
  const connected = () => at("connection-state").getByText("Connected", { exact: true }).waitFor();
  const focused = () => page.evaluate<string | undefined>("document.activeElement?.dataset.testid");
  const titles = () => page.locator(".session-title").allInnerTexts();
  const conversation = () => page.locator("[data-testid=turn] .answer > :not(.how)").allInnerTexts();
  /** The n-th turn of the open conversation has ended well. */
  const answered = (n: number) =>
    turns("completed")
      .nth(n - 1)
      .waitFor();
  const say = async (text: string) => {
    await at("message-input").fill(text);
    await at("message-input").press("Enter");
  };

  test("[Show 4] without a login the page offers the demo's users; a choice leads in", async () => {
    await page.goto(server.url);
    await at("login-dr-rivera").waitFor();
    expect(await page.locator(".login-user strong").allInnerTexts()).toEqual(["Dr. Rivera", "Dr. Chen", "Dr. Okafor"]);
    expect(nameless(await accessTree(page))).toEqual([]);
    expect(seen.takeErrors()).toEqual([
      "Failed to load resource: the server responded with a status of 401 (Unauthorized) @ /v1/sessions",
    ]);

    await at("login-dr-rivera").click();
    await at("message-input").waitFor();
    expect(await focused()).toBe("message-input");
    expect(await page.locator(".who-name").textContent()).toBe("Dr. Rivera");
    expect(await at("session-list").textContent()).toBe("No conversations yet.");
    expect(await at("banner-simulated").textContent()).toMatch(/^Simulated model\. .*Not for care\.$/);
  });

  test("[Show 4] the answer streams, its steps are told, and it ends in a card of products", async () => {
    await recordAnswer(page);
    await say(QUESTION);
    await answered(1);

    const { lengths, steps } = await recorded(page);
    expect(lengths.length).toBeGreaterThan(2);
    expect(lengths.toSorted((a, b) => a - b)).toEqual(lengths);
    expect(steps).toContain("Looking for the patient…");
    expect(steps.at(-1)).toMatch(/^How this was answered \(\d steps\)$/);
    const activity = await at("activity").allTextContents();
    expect(activity.map((line) => line.trim())).toContain("Showing supplements");

    const products = await at("product").locator(".item-name").allInnerTexts();
    expect(products.length).toBeGreaterThan(0);
    expect(products.filter((name) => !name.includes("Magnesium"))).toEqual([]);
    const text = (await at("block-text").last().textContent()) ?? "";
    expect(products.filter((name) => !text.includes(name))).toEqual([]);
    expect(await at("banner-simulated").isVisible()).toBe(true);
  });

  test("[Show 4] after a reload the conversation is there, and the list names it", async () => {
    const before = await conversation();
    await page.reload();
    await answered(1);
    await connected();
    expect(await conversation()).toEqual(before);
    expect(await titles()).toEqual([QUESTION]);
  });

  test("a second conversation is begun and asked with the keyboard alone", async () => {
    for (let step = 0; step < 10 && (await focused()) !== "new-session"; step += 1)
      await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "What can I help you with?" }).waitFor();
    await page.locator("[data-testid=message-input]:focus").waitFor();
    await page.keyboard.type("Does ginkgo interact");
    await page.keyboard.press("Shift+Enter");
    await page.keyboard.type("with warfarin?");
    await page.keyboard.press("Enter");
    await answered(1);

    expect(await page.locator(".bubble").textContent()).toBe("Does ginkgo interact\nwith warfarin?");
    expect(await at("severity").allInnerTexts()).toEqual(["Moderate"]);
    expect(await focused()).toBe("message-input");
    await at("session-item").nth(1).waitFor();
    expect((await titles())[1]).toBe(QUESTION);
  });

  test("everything that can be used has a name, the answer is announced, and the headings are in order", async () => {
    const tree = await accessTree(page);
    expect(nameless(tree)).toEqual([]);
    expect(tree).toEqual(
      expect.arrayContaining([
        { role: "navigation", name: "Conversations" },
        { role: "log", name: "Conversation" },
        { role: "textbox", name: "Message" },
        { role: "combobox", name: "Patient" },
        { role: "button", name: "Send" },
        { role: "region", name: "Interaction check" },
      ]),
    );
    expect(await page.locator("main [role=status]").allInnerTexts()).toEqual(["Connected", "Answer complete"]);
    const headings = await page.locator("h1, h2, h3, h4, h5").evaluateAll((all) => all.map(({ tagName }) => tagName));
    expect(headings.slice(0, 2)).toEqual(["H1", "H3"]);
  });

  test("a patient is picked by name, goes along as an id, and stands at the message by name", async () => {
    await at("patient-input").fill("Gideon Saltmarsh");
    await say("What does the chart say?");
    await answered(2);
    expect(await page.locator(".chip").allInnerTexts()).toEqual(["Patient Gideon Saltmarsh"]);
    expect(await page.locator(".chip").getAttribute("title")).toBe("pat-008");
    await page.reload();
    await answered(2);
    expect(await at("patient-input").inputValue()).toBe("Gideon Saltmarsh");
  });

  test("light and dark are both readable, and a phone has nothing to scroll sideways", async () => {
    const ground = () => page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
    expect([await ground(), await faintText(page)]).toEqual(["rgb(246, 248, 248)", []]);
    await page.emulateMedia({ colorScheme: "dark" });
    expect([await ground(), await faintText(page)]).toEqual(["rgb(15, 23, 22)", []]);
    await page.emulateMedia({ colorScheme: "light" });

    await page.setViewportSize({ width: 390, height: 800 });
    expect(await sidewaysScroll(page)).toEqual([0, 0, 0, 0]);
    await page.getByRole("button", { name: "Conversations" }).click();
    await at("session-item").last().click();
    await at("card-recommend_supplements").waitFor();
    expect(await sidewaysScroll(page)).toEqual([0, 0, 0, 0]);
    await page.setViewportSize({ width: 1200, height: 860 });
  });

  test("[Show 4] a server that is killed and started again finds the page waiting, with everything on it", async () => {
    const before = await conversation();
    await server.kill("SIGKILL");
    await page.getByText("Reconnecting…").waitFor();
    expect(await at("retry-in").textContent()).toMatch(/^in \d+ s$/);
    await Promise.all([page.waitForEvent("websocket"), at("retry-now").click()]);
    server = await scene.start({ PORT: port, GEMINI_BASE_URL: simulator.url, GEMINI_API_KEY: "any" }, server.dataDir);
    await connected();
    expect(await conversation()).toEqual(before);
    // The new server has a model that is not its own simulator.
    await at("banner-simulated").waitFor({ state: "detached" });
    expect(seen.takeErrors().filter((line) => !line.includes("net::ERR_"))).toEqual([]);
  });

  test("a slow answer is stopped at a click; the message that waited comes next", async () => {
    simulator.setKnobs({ tokenMs: 60 });
    await say("Does ginkgo interact with warfarin?");
    await page.locator("[data-outcome=running] [data-testid=how]").waitFor();
    await say("Does magnesium interact with levothyroxine?");
    await at("queue").getByText("Does magnesium interact with levothyroxine?").waitFor();
    await at("stop").click();
    await turns("cancelled").getByText("Stopped.").waitFor();
    simulator.setKnobs({ tokenMs: 0 });
    await answered(2);
    await at("queue").waitFor({ state: "detached" });
    await at("stop").waitFor({ state: "detached" });
    expect(await turns("completed").last().locator(".bubble").textContent()).toBe(
      "Does magnesium interact with levothyroxine?",
    );
  });

  test("a turn that failed says so and can be tried again", async () => {
    simulator.setKnobs({ faults: [{ kind: "status", status: 503 }] });
    await say("Which nutrients does metformin deplete?");
    await at("turn-failed").waitFor();
    expect(await at("turn-failed").getAttribute("role")).toBe("alert");
    simulator.setKnobs({ faults: [] });
    await at("retry").click();
    await answered(3);
    expect(await turns("completed").last().locator(".bubble").textContent()).toBe(
      "Which nutrients does metformin deplete?",
    );
  });

  test("a conversation is deleted after a question, and is gone from the list", async () => {
    const [other] = (await titles()).filter((title) => title !== QUESTION);
    await page.getByRole("button", { name: `Delete “${other}”` }).click();
    expect(nameless(await accessTree(page))).toEqual([]);
    await at("confirm-delete").click();
    await at("session-item").nth(1).waitFor({ state: "detached" });
    expect(await titles()).toEqual([QUESTION]);
  });

  test("a login that has ended leads to the choice, and a new one back to the conversation", async () => {
    await context.clearCookies();
    await page.evaluate("window.dispatchEvent(new Event('focus'))");
    await at("login-dr-rivera").click();
    await answered(3);
    await connected();
    expect(seen.takeErrors().filter((line) => !line.includes("401 (Unauthorized)"))).toEqual([]);
  });

  test("another user sees neither the list nor the conversation", async () => {
    const { hash } = new URL(page.url());
    await page.locator(".switch summary").click();
    await page.getByRole("link", { name: "Dr. Chen" }).click();
    await at("session-list").getByText("No conversations yet.").waitFor();
    expect(seen.takeErrors()).toEqual([]);

    await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
    await page.getByText("This conversation is not available to you.").waitFor();
    expect(await at("turn").count()).toBe(0);
    expect(seen.takeErrors().filter((line) => !line.includes("404"))).toEqual([]);
  });

  test("nobody but the server was asked for anything", () => {
    const { host } = new URL(server.url);
    expect(seen.origins()).toEqual([`http://${host}`, `ws://${host}`]);
  });
});
