import { afterAll, expect, test } from "vitest";
import { processScene } from "../runtime/testing/process.ts";
import { runExample } from "./testing/readme-example.ts";

const scene = processScene();
afterAll(() => scene.clean());

test("the example of the README works as it stands against a real server", async () => {
  const server = await scene.start();
  const { code, printed } = await runExample(server.url);
  expect({ code, warns: /warfarin/i.test(printed) && /bleeding/i.test(printed) }).toEqual({ code: 0, warns: true });
  expect((await server.kill("SIGTERM")).code).toBe(0);
});
