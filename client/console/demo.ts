import { z } from "zod";
import type { Known } from "./known.ts";

/** The users of the demo login (PROTOCOL.md). */
export const demoUsers = [
  { id: "dr-rivera", name: "Dr. Rivera", about: "Every feature" },
  { id: "dr-chen", name: "Dr. Chen", about: "Without the plan builder" },
  { id: "dr-okafor", name: "Dr. Okafor", about: "Without research" },
] as const;

/** The patients of the reference platform: the page has no other way to offer names to pick from. */
export const demoPatients: readonly Known[] = [
  { id: "pat-001", label: "Marisol Vantreight" },
  { id: "pat-002", label: "Tobiah Wrenford" },
  { id: "pat-003", label: "Anneliese Okoro-Vance" },
  { id: "pat-004", label: "Dashiell Marchetti" },
  { id: "pat-005", label: "Perpetua Lindqvist" },
  { id: "pat-006", label: "Ransom Abelard" },
  { id: "pat-007", label: "Ileana Brockhurst" },
  { id: "pat-008", label: "Gideon Saltmarsh" },
  { id: "pat-009", label: "Katarzyna Fennimore" },
  { id: "pat-010", label: "Ozias Thornquist" },
  { id: "pat-011", label: "Beatrix Holloway-Dean" },
  { id: "pat-012", label: "Leopold Achterberg" },
];

export const examples: readonly string[] = [
  "Does ginkgo interact with warfarin?",
  "Recommend a magnesium supplement for Gideon Saltmarsh",
  "Which nutrients does metformin deplete?",
  "What is the evidence for magnesium and sleep?",
];

/** Skills that can be started without words. */
export const entryPoints = [
  { id: "check_interactions", label: "Check interactions" },
  { id: "build_plan", label: "Build a plan" },
  { id: "research_evidence", label: "Search the evidence" },
  { id: "platform_help", label: "Help with the platform" },
] as const;

const KEY = "assist.demo-user";

/** The login cookie can't be read by the page; the name is what was chosen here, in this tab. */
export const rememberUser = (id: string): void => sessionStorage.setItem(KEY, id);
export const chosenUser = () => demoUsers.find(({ id }) => id === sessionStorage.getItem(KEY));

const health = z.object({ simulated: z.boolean(), demo_login: z.boolean() });
export type House = z.infer<typeof health>;

/** What the server says of itself to anyone: whether it has the demo login, and whether its model is simulated. */
export async function askHouse(): Promise<House> {
  const answer = await fetch("/healthz");
  return health.parse(await answer.json());
}
