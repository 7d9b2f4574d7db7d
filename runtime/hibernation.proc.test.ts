/** A conversation leaves memory when its turn is over and comes back from the database, in this process or the next. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { processScene, type Server } from "./testing/process.ts";

const OPERATOR = "operator-token-of-this-test";
const QUESTION = "Does ginkgo interact with warfarin?";
const scene = processScene();
let server: Server;
let cookie: string;
let session: string;
beforeAll(async () => {
  server = await scene.start({ OPERATOR_TOKEN: OPERATOR });
  cookie = await server.login("dr-rivera");
});
afterAll(() => scene.clean());

const resident = async (): Promise<string | undefined> => {
  const answer = await server.get("/metrics", { authorization: `Bearer ${OPERATOR}` });
  return /^dormouse_sessions_resident .*$/m.exec(await answer.text())?.[0];
};
const asleep = () => vi.waitFor(async () => expect(await resident()).toBe("dormouse_sessions_resident 0"));

test("[Show 2] the session sleeps after its turn, and the next connection thaws it with its history", async () => {
  const first = await server.talk({ cookie });
  session = first.session;
  await first.say(QUESTION);
  await first.close();
  await asleep();

  const second = await server.talk({ cookie, session });
  expect(second.frames[0]).toMatchObject({ kind: "session_opened", data: { thawed: false, status: "hibernated" } });
  const { text } = await second.say("What did I just ask?");
  expect(text).toContain(QUESTION);
  await second.close();
  await asleep();
});

test("[Show 2] after kill -9 and a restart the same login goes on in the same conversation", async () => {
  expect(await server.kill("SIGKILL")).toEqual({ code: null, signal: "SIGKILL" });
  server = await scene.start({ OPERATOR_TOKEN: OPERATOR }, server.dataDir);

  const third = await server.talk({ cookie, session });
  const resync = await third.until("resync");
  expect(resync.data.turns.map(({ n, input, outcome }) => [n, "text" in input && input.text, outcome])).toEqual([
    [1, QUESTION, "completed"],
    [2, "What did I just ask?", "completed"],
  ]);
  const { text } = await third.say("What did I ask first?");
  expect(text).toContain(QUESTION);
  await third.close();
});

test("[Show 2] the operator's numbers are for the operator", async () => {
  const answers = await Promise.all([
    server.get("/metrics"),
    server.get("/metrics", { authorization: "Bearer guess" }),
    server.get("/metrics", { cookie }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
});
