/** Questions with fixed answers, and a proposal that is changed in words, in the page. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findChromium } from "./chromium.ts";
import { type PeopleScene, peopleScene, type Tab, words } from "./people-scene.ts";

const chromium = findChromium();
if (chromium === undefined) process.stderr.write("skipped: choices in the page need Chromium\n");

describe.skipIf(chromium === undefined)("choices", () => {
  let scene: PeopleScene;
  let tab: Tab;

  beforeAll(async () => {
    scene = await peopleScene(chromium ?? "");
    tab = await scene.tab();
  });
  afterAll(() => scene?.close());
  let broken = false;
  beforeEach(({ skip }) => skip(broken, "an earlier step failed"));
  afterEach(({ task }) => {
    broken ||= task.result?.state === "fail";
    if (!broken) expect(tab.seen.takeErrors()).toEqual([]);
  });

  const chosen = (card = tab.cards("closed").last()) => card.getByTestId("chosen").allTextContents();

  test("one of several is chosen with the keyboard alone, with a comment, and reads as the user's answer", async () => {
    await tab.say("Ask me whether capsules or powder");
    await tab.cards("open").waitFor();
    expect(await tab.page.evaluate("document.activeElement?.type")).toBe("radio");
    await tab.page.keyboard.press("Space");
    await tab.page.keyboard.press("ArrowDown");
    await tab.page.keyboard.press("Tab");
    await tab.page.keyboard.press("Enter");
    await tab.page.keyboard.press("Tab");
    await tab.page.keyboard.type("no tablets");
    await tab.page.keyboard.press("Tab");
    await tab.page.keyboard.press("Enter");
    await tab.ended("completed", 2);
    expect([await words(tab.at("decision")), await chosen(), await words(tab.at("card-ended"))]).toEqual([
      "Powder: no tablets",
      ["Powder (chosen)"],
      "“no tablets”",
    ]);
    expect([await tab.focused(), await words(tab.page.locator(".answers"))]).toEqual([
      "message-input",
      "Capsules or powder?",
    ]);
  });

  test("several are chosen, in the order in which they were offered", async () => {
    await tab.say("Ask me which ones: sleep, fatigue or mood");
    await tab.cards("open").waitFor();
    expect(await tab.at("answer").isEnabled()).toBe(false);
    for (const name of ["Mood", "Fatigue", "Sleep"]) await tab.page.getByLabel(name).check();
    await tab.page.getByLabel("Fatigue").uncheck();
    expect(await words(tab.at("answer"))).toBe("Answer with 2");
    await tab.at("answer").click();
    await tab.ended("completed", 4);
    expect([await words(tab.at("decision").last()), await chosen()]).toEqual([
      "Sleep, Mood",
      ["Sleep (chosen)", "Mood (chosen)"],
    ]);
  });

  test("a dismissed question is over, and the conversation goes on", async () => {
    await tab.say("Ask me whether capsules or powder");
    await tab.at("dismiss").click();
    await tab.ended("completed", 6);
    const card = tab.cards("closed").last();
    expect([await words(card.getByTestId("card-badge")), await chosen(card)]).toEqual(["Dismissed", []]);
    expect(await words(tab.at("decision").last())).toBe("Dismissed");
  });

  test("a proposal that is changed in words gives way to the next one; an item left out is not stored", async () => {
    await tab.say("Build a plan for Marisol Vantreight");
    await tab.at("accept").waitFor();
    const count = await tab.at("proposal-item").count();
    await tab.say("Leave out magnesium");
    await tab.cards("closed").getByText("Replaced", { exact: true }).waitFor();
    await tab.at("accept").waitFor();
    const items = tab.cards("open").getByTestId("proposal-item");
    await items.first().waitFor();
    expect(await items.count()).toBe(count - 1);

    const name = await words(items.first().locator(".item-name"));
    await items.first().getByTestId("remove-item").click();
    expect(await tab.cards("open").getByTestId("remove-item").last().isEnabled()).toBe(count > 3);
    await tab.at("accept").click();
    await tab.at("card-treatment_plan").waitFor();
    const [plan] = await scene.plansOf("pat-001");
    expect([plan?.items.length, plan?.items.map((item) => item.name).includes(name)]).toEqual([count - 2, false]);
    expect(await words(tab.cards("closed").last().locator(".removed .item-name"))).toBe(name);
  });
});
