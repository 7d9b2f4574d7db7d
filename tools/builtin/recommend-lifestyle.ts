import { z } from "zod";
import { showingTool } from "./define.ts";

/** Shows lifestyle advice as a card. */
export const recommendLifestyle = showingTool({
  name: "recommend_lifestyle",
  title: "Showing lifestyle advice",
  description:
    "Show lifestyle recommendations (food, sleep, movement, stress) to the user as a card. The card shows the details: do not repeat them in your text. Saves nothing.",
  input: z.object({
    recommendations: z
      .array(
        z.object({
          title: z.string().min(1).max(120).describe("The recommendation in a few words."),
          detail: z.string().min(1).max(600).describe("How to do it, in plain words for the patient."),
        }),
      )
      .min(1)
      .max(10),
  }),
  async run({ recommendations }) {
    const titles = recommendations.map(({ title }) => title).join("; ");
    return {
      kind: "ok",
      text: `The user sees a card with: ${titles}.`,
      card: { kind: "recommend_lifestyle", data: { recommendations } },
    };
  },
});
