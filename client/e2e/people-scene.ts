/** A server, a platform that can be asked afterwards, and tabs of one user's browser. */
import type { Browser, Locator, Page } from "playwright-core";
import { type Simulator, startSimulator } from "../../evals/simulator/simulator.ts";
import { type PlatformFront, platformFront } from "../../runtime/testing/platform-front.ts";
import { processScene, type Server } from "../../runtime/testing/process.ts";
import { launchChromium } from "./chromium.ts";
import { type Watch, watch } from "./watch.ts";
import { tapWire, type Wire } from "./wire.ts";

/** What is written there, without the space around it. */
export const words = async (place: Locator): Promise<string> => (await place.textContent())?.trim() ?? "";

/** A plan as the platform holds it, as far as tests look at it. */
export type StoredPlan = {
  readonly id: string;
  readonly title: string;
  readonly status: string;
  readonly items: readonly { readonly name: string; readonly dosing: string }[];
};

export type Tab = {
  readonly page: Page;
  readonly seen: Watch;
  readonly wire: Wire;
  at(id: string): Locator;
  /** Cards of questions and proposals that stand so. */
  cards(state: "open" | "closed"): Locator;
  say(text: string): Promise<void>;
  /** The n-th turn of the conversation has ended so. */
  ended(outcome: string, n?: number): Promise<void>;
  /** All that is said and shown, turn by turn, without how it came about. */
  told(): Promise<readonly string[]>;
  focused(): Promise<string | undefined>;
  /** Everything is loaded again; resolves when it is connected. */
  reload(): Promise<void>;
};

export type PeopleScene = {
  readonly simulator: Simulator;
  readonly front: PlatformFront;
  readonly server: Server;
  tab(address?: string): Promise<Tab>;
  plansOf(patientId: string): Promise<readonly StoredPlan[]>;
  close(): Promise<void>;
};

export async function peopleScene(chromium: string): Promise<PeopleScene> {
  const scene = processScene();
  const [simulator, front] = await Promise.all([startSimulator(), platformFront()]);
  // The server hands out dist/console; it must be that of these sources.
  const env = { GEMINI_BASE_URL: simulator.url, GEMINI_API_KEY: "any", PLATFORM_URL: front.url };
  const server = await scene.start(env);
  const browser: Browser = await launchChromium(chromium);
  const context = await browser.newContext({ viewport: { width: 1200, height: 860 }, reducedMotion: "reduce" });
  const [name = "", value = ""] = (await front.cookieOf("dr-rivera")).split("=");
  await context.addCookies([{ name, value, url: server.url }]);

  async function tab(address = server.url): Promise<Tab> {
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    const seen = await watch(page);
    const wire = await tapWire(page);
    const at = (id: string) => page.getByTestId(id);
    const turns = page.getByTestId("turn");
    await page.goto(address);
    await at("message-input").waitFor();
    return {
      page,
      seen,
      wire,
      at,
      cards: (state) => page.locator(`[data-testid=card-interaction_request][data-state=${state}]`),
      async say(text) {
        await at("message-input").fill(text);
        await at("message-input").press("Enter");
      },
      async ended(outcome, n) {
        const turn = n === undefined ? turns.last() : turns.nth(n - 1);
        await turn.and(page.locator(`[data-outcome=${outcome}]`)).waitFor();
      },
      told: () => page.locator(".turn .said, .turn .answer > :not(.how)").allInnerTexts(),
      focused: () => page.evaluate<string | undefined>("document.activeElement?.dataset.testid"),
      async reload() {
        await page.reload();
        await at("connection-state").getByText("Connected", { exact: true }).waitFor();
        await turns.first().waitFor();
      },
    };
  }

  return {
    simulator,
    front,
    server,
    tab,
    plansOf: async (patientId) => (await front.plansOf("dr-rivera", patientId)) as readonly StoredPlan[],
    async close() {
      await browser.close();
      await scene.clean();
      await Promise.all([simulator.close(), front.close()]);
    },
  };
}
