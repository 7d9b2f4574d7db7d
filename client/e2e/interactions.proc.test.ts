/** Questions and proposals in the page: answered, edited, dismissed, withdrawn, too late, in two tabs and over reloads. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { accessTree, faintText, nameless, sidewaysScroll } from "./access.ts";
import { findChromium } from "./chromium.ts";
import { type PeopleScene, peopleScene, type Tab, words } from "./people-scene.ts";

const chromium = findChromium();
if (chromium === undefined) process.stderr.write("skipped: questions in the page need Chromium\n");

const NOTES =
  "Build a plan from these notes: 58 year old, on metformin, tired since spring, cramps at night. B12 was low in May. Start vitamin B12 and magnesium glycinate, recheck in 8 weeks.";
const PATIENT = "Marisol Vantreight, born 1968-04-12";

describe.skipIf(chromium === undefined)("people in the loop", () => {
  let scene: PeopleScene;
  let first: Tab;
  let second: Tab;
  /** A conversation whose question is left alone until it expires. */
  let forgotten: Tab;

  beforeAll(async () => {
    scene = await peopleScene(chromium ?? "");
    forgotten = await scene.tab();
    first = await scene.tab();
  });
  afterAll(() => scene?.close());
  let broken = false;
  beforeEach(({ skip }) => skip(broken, "an earlier step failed"));
  afterEach(({ task }) => {
    broken ||= task.result?.state === "fail";
    if (!broken) for (const tab of [first, second, forgotten]) expect(tab?.seen.takeErrors() ?? []).toEqual([]);
  });

  test("a question that expires says how long there is", async () => {
    await forgotten.say("Build a plan within 1 minute");
    await forgotten.cards("open").waitFor();
    // From here on it has to know the end by itself.
    forgotten.wire.hold();
    expect(await words(forgotten.at("card-badge"))).toMatch(/^Expires in (1 min|\d\d s)$/);
  });

  test("[Show 1] notes without a patient in context lead to a question for the patient, which takes the focus", async () => {
    await first.say(NOTES);
    await first.cards("open").waitFor();
    expect(await first.at("patient").count()).toBe(12);
    expect(await words(first.at("patient").first())).toMatch(/^Marisol Vantreight\s*born 1968-04-12$/);
    expect(await first.focused()).toBe("picker-search");
    expect(await words(first.page.locator("main [role=status]").last())).toMatch(/^Assist asks: .*patient/);
    expect(nameless(await accessTree(first.page))).toEqual([]);
  });

  test("[Show 1] the question is there after a reload and in a second tab", async () => {
    await first.reload();
    await first.cards("open").waitFor();
    second = await scene.tab(first.page.url());
    await second.cards("open").waitFor();
    expect(await second.told()).toEqual(await first.told());
  });

  test("an answer that does not fit is refused in place, and can be given again", async () => {
    first.wire.rewrite = (command) =>
      command["type"] === "resolve"
        ? { ...command, resolution: { kind: "answered", selected: ["pat-none"] } }
        : command;
    await first.at("picker-search").fill("vant");
    await first.page.keyboard.press("Enter");
    await first.at("answer").click();
    await first.at("answer-problem").waitFor();
    expect(await words(first.at("answer-problem"))).toBe(
      "That answer does not fit what was asked: that option was not offered.",
    );
    first.wire.rewrite = (command) => command;
    expect([await first.at("answer").isEnabled(), await second.cards("open").count()]).toEqual([true, 1]);
  });

  test("[Show 1] a patient is found by typing, chosen and confirmed with Enter; both tabs go on to the proposal", async () => {
    await first.at("picker-search").fill("1968 mari");
    expect(await first.at("patient").count()).toBe(1);
    await first.page.keyboard.press("Enter");
    await first.page.keyboard.press("Enter");
    for (const tab of [first, second]) {
      await tab.at("accept").waitFor();
      expect(await words(tab.at("decision"))).toBe(PATIENT);
      expect(await words(tab.cards("closed").getByTestId("chosen"))).toMatch(/^Marisol Vantreight · born 1968-04-12/);
    }
    expect(await second.told()).toEqual(await first.told());
    expect(await scene.plansOf("pat-001")).toEqual([]);
  });

  test("[Show 1] after a reload the proposal can be edited: a blank dose is refused, an untouched one has no changes", async () => {
    await first.reload();
    await first.at("accept").waitFor();
    expect(await words(first.at("accept"))).toBe("Accept");
    expect(await words(first.at("proposal-target"))).toBe("New draft plan");
    await first.at("dosing").first().fill(" ");
    expect([await first.at("accept").isEnabled(), await words(first.page.locator(".field-problem"))]).toEqual([
      false,
      "Say how to take it, or remove the item.",
    ]);
    await first.at("undo-changes").click();
    expect([await words(first.at("accept")), await first.at("undo-changes").count()]).toEqual(["Accept", 0]);
  });

  test("a proposal can be read in the dark and on a phone, and everything in it has a name", async () => {
    expect([await faintText(first.page), nameless(await accessTree(first.page))]).toEqual([[], []]);
    await first.page.emulateMedia({ colorScheme: "dark" });
    await first.page.setViewportSize({ width: 390, height: 800 });
    expect([await faintText(first.page), await sidewaysScroll(first.page)]).toEqual([[], [0, 0, 0, 0]]);
    await first.page.emulateMedia({ colorScheme: "light" });
    await first.page.setViewportSize({ width: 1200, height: 860 });
  });

  test("[Show 1] accepted with another dose: the draft on the platform has that dose, once", async () => {
    await first.at("dosing").first().fill("2 capsules with breakfast, for three months");
    expect(await words(first.at("accept"))).toBe("Accept with changes");
    expect(await first.page.locator(".to-end").count()).toBe(1);
    await first.at("accept").click();
    for (const tab of [first, second]) {
      await tab.at("card-treatment_plan").waitFor();
      await tab.ended("completed");
      expect(await words(tab.at("decision").last())).toBe("Accepted with changes");
      expect(await words(tab.at("plan-item").first().getByTestId("dosing"))).toBe(
        "2 capsules with breakfast, for three months",
      );
    }
    // What came of it is in sight.
    expect(await first.page.locator(".to-end").count()).toBe(0);
    const plans = await scene.plansOf("pat-001");
    expect(plans.map(({ status, items }) => [status, items[0]?.dosing])).toEqual([
      ["draft", "2 capsules with breakfast, for three months"],
    ]);
  });

  test("[Show 1] after a reload of both tabs all of it is there, and nothing can be answered any more", async () => {
    const before = await first.told();
    for (const tab of [first, second]) {
      await tab.reload();
      await tab.at("card-treatment_plan").waitFor();
      expect(await tab.told()).toEqual(before);
      expect([await tab.cards("open").count(), await tab.cards("closed").count()]).toEqual([0, 2]);
      expect(await tab.at("card-badge").allInnerTexts()).toEqual(["Answered", "Accepted with changes"]);
    }
  });

  test("what is proposed for a draft that is there says so, and goes into it", async () => {
    await first.say("Build a plan for Marisol Vantreight with zinc, on top of the existing draft");
    await first.at("accept").waitFor();
    const [draft] = await scene.plansOf("pat-001");
    expect(await words(first.at("proposal-target").last())).toBe(`Adds to the draft “${draft?.title}”`);
    await first.at("accept").click();
    await first.page.getByRole("heading", { name: "Draft plan updated" }).waitFor();
    expect(
      (await scene.plansOf("pat-001")).map(({ id, items }) => [id, items.length - (draft?.items.length ?? 0)]),
    ).toEqual([[draft?.id, 1]]);
    await first.ended("completed");
  });

  test("[D-12] a tab that did not hear of the end is told at its click: the card closes, nothing is stored", async () => {
    await first.say("Build a plan for Gideon Saltmarsh with magnesium");
    await first.at("accept").waitFor();
    await second.at("accept").waitFor();
    second.wire.hold();
    await first.at("dismiss").click();
    await first.at("dismiss-reason").fill("labs first");
    await first.at("confirm-dismiss").click();
    await first.ended("completed");

    await second.at("accept").click();
    await second.at("card-ended").waitFor();
    expect([await second.cards("open").count(), await words(second.at("card-ended"))]).toEqual([
      0,
      "This is no longer open: it was answered, or the conversation went on.",
    ]);
    second.wire.release();
    await second.at("decision").getByText("Dismissed: labs first").waitFor();
    expect([await scene.plansOf("pat-008"), await words(second.at("card-badge").last())]).toEqual([[], "Dismissed"]);
  });

  test("[D-13] a message instead of an answer withdraws the question, also after a reload; writing keeps the focus", async () => {
    await first.say("Build a plan for Tobiah Wrenford with magnesium");
    await first.at("message-input").fill("Does ginkgo");
    await first.at("accept").waitFor();
    expect(await first.focused()).toBe("message-input");
    await first.say("Does ginkgo interact with warfarin?");
    for (const tab of [first, second]) await tab.ended("completed", 9);
    await second.reload();
    for (const tab of [first, second]) {
      await tab.ended("completed");
      const card = tab.cards("closed").last();
      expect([await tab.cards("open").count(), await words(card.getByTestId("card-badge"))]).toEqual([0, "Withdrawn"]);
      expect(await words(card.getByTestId("card-ended"))).toBe(
        "Withdrawn: the conversation went on without an answer.",
      );
    }
  });

  test("a question that nobody answered expires in front of the user and stays so after a reload", async () => {
    await forgotten.at("card-badge").getByText("Expired", { exact: true }).waitFor({ timeout: 70_000 });
    expect(await words(forgotten.at("answer-problem"))).toBe("The time to answer this is over.");
    expect([await forgotten.at("dismiss").isEnabled(), await forgotten.at("picker-search").isEnabled()]).toEqual([
      false,
      false,
    ]);
    forgotten.wire.release();
    await forgotten.cards("closed").waitFor();
    const ends = () => Promise.all([words(forgotten.at("card-badge")), words(forgotten.at("card-ended"))]);
    expect(await ends()).toEqual(["Expired", "Expired without an answer."]);
    await forgotten.reload();
    await forgotten.cards("closed").waitFor();
    expect(await ends()).toEqual(["Expired", "Expired without an answer."]);
  });
});
