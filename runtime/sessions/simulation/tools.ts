import type { ToolScript } from "../testing/scene.ts";
import type { Gate } from "./gate.ts";
import type { Random } from "./random.ts";

export const TOOL_NAMES = ["look", "draft", "note"];

/** One effect of a tool on the world. */
export type Effect = { readonly tool: string; readonly key: string; readonly repeatable: boolean };

/** A tool that reads, one that writes and must not be sent twice, one that honours its key. */
export function tools(
  random: Random,
  gate: Gate,
  owner: string,
  happened: (effect: Effect) => Promise<void>,
): ToolScript[] {
  const tool = (name: string, readOnly: boolean, repeatable: boolean): ToolScript => ({
    name,
    readOnly,
    repeatable,
    run: async (_args, key, signal) => {
      const act = async () => {
        if (!readOnly) await happened({ tool: name, key, repeatable });
      };
      await gate.hold(owner, `tool.${name}`, act, {
        isStuck: random.happens(0.1),
        ...(random.happens(0.7) && { signal }),
      });
      if (random.happens(0.1)) return { kind: "error", reason: "tool", text: "refused" };
      if (random.happens(0.3)) {
        const data = { recommendations: [{ title: "Walk", detail: random.uuid() }] };
        return { kind: "ok", text: "done", card: { kind: "recommend_lifestyle", data } };
      }
      return { kind: "ok", text: random.one(["done", "seen"]) };
    },
  });
  return [tool("look", true, true), tool("draft", false, false), tool("note", false, true)];
}
