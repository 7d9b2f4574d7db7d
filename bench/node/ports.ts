import { GEMINI_PROJECTOR, projectGemini } from "../../machines/conversation/project-gemini.ts";
import type { Model } from "../../machines/model.ts";
import { calls, says } from "../../runtime/models/scripted.ts";
import type { Tool } from "../../tools/tool.ts";
import type { Toolboxes } from "../../tools/toolbox.ts";

const LOOKUP = "bench_lookup";
const ANSWER =
  "Magnesium glycinate is the form with the fewest digestive effects; the usual adult dose lies between 200 and 400 mg " +
  "of elemental magnesium in the evening. With reduced kidney function, check the serum level first and begin low.";
const RESULT = JSON.stringify({
  products: Array.from({ length: 4 }, (_, at) => ({
    id: `prod-${at}`,
    name: `Magnesium Glycinate ${100 + at * 50} mg`,
    brand: "Bench Naturals",
    form: "capsule",
    servingsPerContainer: 60,
    price: { amount: 19.5, currency: "USD" },
  })),
});

/**
 * A model without latency: one call of the local tool, then an answer of 40 words. The projection to a provider's form
 * is real, because every real model pays for it.
 */
export function benchModel(window: number): Model {
  let answers = 0;
  return {
    name: "bench",
    issuer: "scripted",
    window,
    projector: GEMINI_PROJECTOR,
    async *stream(request, signal) {
      signal.throwIfAborted();
      projectGemini(request, "scripted");
      answers += 1;
      const isAsked = request.entries.at(-1)?.kind === "user";
      const move = isAsked ? calls(LOOKUP, { query: "magnesium" }) : says(ANSWER, { atOnce: true });
      yield* move(request, signal, answers);
    },
  };
}

/** One read-only tool without latency, with a result of about half a KiB. */
const lookup: Tool = {
  name: LOOKUP,
  description: "Looks products up.",
  title: "Look up",
  inputSchema: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
  traits: { readOnly: true, repeatable: true },
  run: async () => ({ kind: "ok", text: RESULT }),
};

export const benchToolboxes: Toolboxes = {
  toolboxFor: async () => ({
    tools: [lookup],
    find: (name) => (name === LOOKUP ? lookup : undefined),
    degraded: false,
    missing: [],
  }),
};
