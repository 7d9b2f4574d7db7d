import { expect, test } from "vitest";
import { assist } from "../assist.config.ts";
import { AgentInvalid, defineAgent } from "./agent.ts";

test("a bad agent file is refused with every problem by its path", () => {
  const bad = { ...assist, limits: { ...assist.limits, steps: 0 }, skills: ["../x"] };
  expect(() => defineAgent(bad)).toThrow(AgentInvalid);
  expect(() => defineAgent(bad)).toThrow(/at limits\.steps[\s\S]*at skills\[0\]/);
  expect(defineAgent(assist)).toEqual(assist);
});
