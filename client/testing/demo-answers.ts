import type { Answer } from "./fake-server.ts";
import {
  articles,
  citations,
  interactions,
  labs,
  lifestyle,
  plan,
  proposal,
  question,
  supplements,
} from "./samples.ts";

/** Answers that show everything the page can show, chosen by a word of the message. */
export const demoAnswer: Answer = async ({ text, resolution }, stage) => {
  if (resolution !== undefined) {
    if (resolution.kind === "accepted") await stage.card("treatment_plan", plan);
    await stage.say(`Noted: ${text}.`);
    return "completed";
  }
  if (text.includes("ask")) return stage.ask(question);
  if (text.includes("propose"))
    return stage.ask({ kind: "plan_proposal", prompt: "Shall I store this draft?", proposal });
  if (text.includes("fail")) {
    await stage.say("Let me look at the records of this patient before ");
    return "failed";
  }
  if (text.includes("slow")) {
    await stage.tool("patient_search", "Looking for patients");
    await stage.say("A long answer. ".repeat(60));
    return "completed";
  }
  await stage.say("The provider asks about magnesium; the record lists a loop diuretic.", "thinking");
  stage.emit("skill_loaded", { name: "interaction-depletion-check", eager: false });
  await stage.tool("patient_search", "Looking for patients");
  await stage.tool("interaction_check", "Checking interactions");
  if (text.includes("all")) await stage.tool("evidence_search", "Searching the evidence", "error");
  await stage.say(
    "**Gideon Saltmarsh** takes furosemide, which lowers magnesium. Two products fit:\n\n" +
      "1. *Glycinate*, gentle on the gut\n2. Citrate powder, for those who dislike tablets\n\n" +
      "| Form | Elemental | Per day |\n|---|---|---|\n| Glycinate | 200 mg | 1 |\n| Citrate | 150 mg | 1 |\n\n" +
      'Take it **four hours apart** from levothyroxine. <script>alert("no")</script>',
  );
  await stage.card("recommend_supplements", supplements);
  if (!text.includes("all")) return "completed";
  await stage.card("interaction_check_results", interactions);
  await stage.card("recommend_labs", labs);
  await stage.card("recommend_lifestyle", lifestyle);
  await stage.card("citations", citations);
  await stage.card("knowledge_base_results", articles);
  await stage.card("dose_calendar", { weeks: 4, start: "Monday" });
  await stage.say("Tell me if I should draft a plan.");
  return "completed";
};
