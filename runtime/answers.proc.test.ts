/** From `npm start` to an answer: nothing runs that the server did not start itself. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { negativePairs, pick, recordedPairs, seeded } from "./testing/pairs.ts";
import { processScene, type Server } from "./testing/process.ts";
import type { Answered, Talk } from "./testing/talk.ts";

const scene = processScene();
let server: Server;
let talk: Talk;
beforeAll(async () => {
  server = await scene.start();
  talk = await server.talk({ cookie: await server.login("dr-rivera") });
});
afterAll(() => scene.clean());

const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
const random = seeded(seed);
const picked = [pick(recordedPairs, random), pick(recordedPairs, random)];
const negative = pick(negativePairs, random);

/** What every checked pair shows, whatever its answer. */
const checked = ({ ending, skills, tools }: Answered) => ({ ending, skills, tools });

test("[Show 1] it says where it listens, that it is ready, and that the model is simulated", async () => {
  expect(server.stdout()).toMatch(/^ {2}model +simulated/m);
  const ready = await server.get("/readyz");
  expect([ready.status, await ready.json()]).toEqual([200, { ready: true, parts: {} }]);
  console.log(`from spawn to ready: ${Math.round(server.startMs)} ms`);
});

test("each of the first sockets of a process opens and is greeted, at once or one after the other", async () => {
  const cookie = await server.login("dr-rivera");
  const together = await Promise.all(Array.from({ length: 20 }, () => server.talk({ cookie })));
  for (let count = 0; count < 40; count += 1) together.push(await server.talk({ cookie }));
  expect(new Set(together.map(({ frames }) => frames[0]?.kind))).toEqual(new Set(["session_opened"]));
  await Promise.all(together.map((one) => one.close()));
});

test("[Show 1] ginkgo and warfarin: the skill, the check, and the severity of the data", async () => {
  const expected = recordedPairs.find(({ drug, supplement }) => drug === "warfarin" && /ginkgo/i.test(supplement));
  const answer = await talk.say("Does ginkgo interact with warfarin?");
  expect(checked(answer)).toEqual({
    ending: "turn_completed",
    skills: ["interaction-depletion-check"],
    tools: ["load_skill ok", "interaction_check ok"],
  });
  expect(answer.text.toLowerCase()).toContain(expected?.severity);
  expect(talk.frames.map(({ kind }) => kind)).toContain("interaction_check_results");
});

for (const { drug, supplement, severity = "" } of picked) {
  test(`[Show 1] seed ${seed}: ${supplement} and ${drug} is ${severity}, as the data say`, async () => {
    const fresh = await server.talk({ cookie: await server.login("dr-rivera") });
    const answer = await fresh.say(`Does ${supplement} interact with ${drug}?`);
    expect(checked(answer)).toEqual({
      ending: "turn_completed",
      skills: ["interaction-depletion-check"],
      tools: ["load_skill ok", "interaction_check ok"],
    });
    const card = await fresh.until("interaction_check_results");
    const severities = card.data.findings.map((finding) => finding.severity);
    expect(severities).toContain(severity);
    expect(answer.text.toLowerCase()).toContain(severity);
    await fresh.close();
  });
}

test(`[Show 1] seed ${seed}: ${negative.supplement} and ${negative.drug} has no recorded interaction`, async () => {
  const fresh = await server.talk({ cookie: await server.login("dr-rivera") });
  const answer = await fresh.say(`Does ${negative.supplement} interact with ${negative.drug}?`);
  expect(checked(answer)).toMatchObject({ ending: "turn_completed", skills: ["interaction-depletion-check"] });
  expect(answer.text).toMatch(/no interaction is recorded/i);
  expect(answer.text).not.toMatch(/\b(major|moderate|minor)\b/i);
  await fresh.close();
});
