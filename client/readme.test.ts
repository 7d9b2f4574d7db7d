import { expect, test } from "vitest";
import { fakeServer } from "./testing/fake-server.ts";
import { runExample } from "./testing/readme-example.ts";

test("the example of the README works as it stands", async () => {
  const server = await fakeServer({
    answer: async ({ text }, stage) => {
      await stage.say(`You asked: ${text}`);
      return "completed";
    },
  });
  try {
    expect(await runExample(server.url)).toEqual({
      code: 0,
      printed: "You asked: Does ginkgo interact with warfarin?",
    });
  } finally {
    await server.close();
  }
});
