/** Buttons of cards, and the turn in hand: into a plan once, stopped, taken back. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findChromium } from "./chromium.ts";
import { type PeopleScene, peopleScene, type Tab, words } from "./people-scene.ts";

const chromium = findChromium();
if (chromium === undefined) process.stderr.write("skipped: buttons in the page need Chromium\n");

describe.skipIf(chromium === undefined)("buttons", () => {
  let scene: PeopleScene;
  let first: Tab;
  let second: Tab;

  beforeAll(async () => {
    scene = await peopleScene(chromium ?? "");
    first = await scene.tab();
  });
  afterAll(() => scene?.close());
  let broken = false;
  beforeEach(({ skip }) => skip(broken, "an earlier step failed"));
  afterEach(({ task }) => {
    broken ||= task.result?.state === "fail";
    if (!broken) for (const tab of [first, second]) expect(tab?.seen.takeErrors() ?? []).toEqual([]);
  });

  const items = async (patientId: string) =>
    (await scene.plansOf(patientId)).map((plan) => plan.items.map(({ name }) => name));
  const names = (tab: Tab) => tab.at("product").locator(".item-name").allInnerTexts();

  test("[Show 2] an item that was clicked twice is in the draft once, in both tabs", async () => {
    await first.say("Recommend a magnesium supplement for Marisol Vantreight");
    await first.ended("completed");
    second = await scene.tab(first.page.url());
    await second.at("add-to-plan").first().waitFor();
    await first.at("add-to-plan").first().dblclick();
    for (const tab of [first, second]) {
      await tab.at("in-plan").waitFor();
      expect(await tab.at("in-plan").count()).toBe(1);
    }
    expect(first.wire.sent.filter((type) => type === "action")).toEqual(["action"]);
    expect(await items("pat-001")).toEqual([[(await names(first))[0]]]);
    const [plan] = await scene.plansOf("pat-001");
    expect(await words(second.at("in-plan"))).toBe(`In plan ${plan?.title}`);
  });

  test("[Show 2] after a reload it is known to be there, and the agent knows what was added", async () => {
    await first.reload();
    await first.at("in-plan").waitFor();
    const [name = ""] = await names(first);
    await first.say("What did I add?");
    await first.ended("completed", 2);
    expect(await words(first.at("block-text").last())).toContain(name);
    expect(await items("pat-001")).toEqual([[name]]);
  });

  test("[Show 2] a click in each tab at once adds one item", async () => {
    const before = await first.at("add-to-plan").count();
    const label = await first.at("add-to-plan").first().getAttribute("aria-label");
    const press = `document.querySelector('button[aria-label="${label}"]').click()`;
    await Promise.all([first, second].map((tab) => tab.page.evaluate(press)));
    for (const tab of [first, second]) await tab.at("in-plan").nth(1).waitFor();
    expect([
      before - (await first.at("add-to-plan").count()),
      (await items("pat-001")).map((all) => all.length),
    ]).toEqual([1, [2]]);
  });

  test("what the platform did not take says so, and works at the second try", async () => {
    await first.say("Recommend a magnesium supplement for Gideon Saltmarsh");
    await first.ended("completed", 3);
    scene.front.intercept = ({ tool }) =>
      tool?.startsWith("treatment_plan") ? Promise.resolve({ status: 500, headers: {}, body: "" }) : undefined;
    const card = first.at("card-recommend_supplements").last();
    await card.getByTestId("add-to-plan").first().click();
    await card.getByTestId("add-problem").waitFor();
    expect(await words(card.getByTestId("add-problem"))).toBe("The plan could not be changed. Please try again.");
    const other = second.at("card-recommend_supplements").last();
    await other.getByTestId("add-problem").waitFor();
    scene.front.intercept = () => undefined;
    await other.getByRole("button", { name: "Try again" }).click();
    await other.getByTestId("in-plan").waitFor();
    await card.getByTestId("in-plan").waitFor();
    expect((await items("pat-008")).map((all) => all.length)).toEqual([1]);
  });

  test("what was recommended for nobody asks for a patient first, and can be asked again for one", async () => {
    const fresh = await scene.tab();
    await fresh.say("Recommend a magnesium supplement");
    await fresh.ended("completed");
    await fresh.at("add-to-plan").first().click();
    expect(await words(fresh.at("add-problem"))).toMatch(/^Choose a patient first/);
    await fresh.page.getByRole("button", { name: "Choose", exact: true }).click();
    expect(await fresh.focused()).toBe("patient-input");
    await fresh.page.keyboard.type("pat-002");
    await fresh.page.getByRole("button", { name: "Ask again for pat-002" }).click();
    await fresh.ended("completed", 2);
    const card = fresh.at("card-recommend_supplements").last();
    await card.getByTestId("add-to-plan").first().click();
    await card.getByTestId("in-plan").waitFor();
    expect([(await items("pat-002")).map((all) => all.length), fresh.seen.takeErrors()]).toEqual([[1], []]);
    await fresh.page.close();
  });

  test("[D-05] of two messages that wait, the one that is taken back is never answered; Escape stops the answer", async () => {
    scene.simulator.setKnobs({ tokenMs: 60 });
    await first.say("Does ginkgo interact with warfarin?");
    await first.at("stop").waitFor();
    await first.say("Which nutrients does metformin deplete?");
    await first.say("Does magnesium interact with levothyroxine?");
    await first.at("queued").nth(1).waitFor();
    await first.page.getByRole("button", { name: "Take back “Which nutrients does metformin deplete?”" }).click();
    for (const tab of [first, second]) await tab.at("queued").nth(1).waitFor({ state: "detached" });
    await first.page.keyboard.press("Escape");
    await first.ended("cancelled", 4);
    scene.simulator.setKnobs({ tokenMs: 0 });
    await first.ended("completed", 5);
    await first.reload();
    expect((await first.page.locator(".bubble").allInnerTexts()).slice(3)).toEqual([
      "Does ginkgo interact with warfarin?",
      "Does magnesium interact with levothyroxine?",
    ]);
  });

  test("how full the context is, and of what, is told on focus", async () => {
    await first.say("Does ginkgo interact with warfarin?");
    await first.ended("completed", 6);
    await first.at("context-meter").focus();
    expect(await first.at("context-meter").getAttribute("aria-label")).toMatch(/^Context \d+ % full$/);
    expect(await words(first.at("context-parts"))).toMatch(/^[\d,]+ of [\d,]+ tokens of context\s*Instructions\s*\d/);
    await first.page.keyboard.press("Escape");
    await first.at("context-parts").waitFor({ state: "detached" });
  });
});
