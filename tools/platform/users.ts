/** A provider of the demo clinic. `flags` switch capabilities; `preferences` are passed to the agent as they are. */
export type PlatformUser = {
  readonly userId: string;
  readonly name: string;
  readonly flags: readonly string[];
  readonly preferences: Readonly<Record<string, string | number | boolean | readonly string[]>>;
};

const users: readonly PlatformUser[] = [
  {
    userId: "dr-rivera",
    name: "Dr. Elena Rivera",
    flags: ["plan_builder", "research", "interactions", "labs"],
    preferences: {
      specialty: "integrative primary care",
      preferred_brands: ["Sorrelwick Clinical", "Quillfen Labs"],
      preferred_forms: ["capsule", "powder"],
      clinical_voice: "warm and plain; explain the reason before the dose",
      evidence_bar: "prefer randomised trials and say when there are none",
      max_supplements_per_plan: 4,
    },
  },
  {
    userId: "dr-chen",
    name: "Dr. Wei Chen",
    flags: ["research", "interactions", "labs"],
    preferences: {
      specialty: "cardiology",
      preferred_brands: ["Alderquill Nutritionals"],
      preferred_forms: ["softgel", "capsule"],
      clinical_voice: "brief and technical; lead with risks",
      evidence_bar: "meta-analyses and guidelines first",
      include_citations: true,
    },
  },
  {
    userId: "dr-okafor",
    name: "Dr. Adaeze Okafor",
    flags: ["plan_builder", "interactions", "labs"],
    preferences: {
      specialty: "women's health",
      preferred_brands: ["Thistlemarch Naturals", "Vellumroot Apothecary"],
      preferred_forms: ["liquid", "capsule"],
      clinical_voice: "conversational, short sentences",
      dietary_default: "vegan where available",
      budget_conscious: true,
    },
  },
];

/** The user with this id, or undefined. */
export function findUser(userId: string): PlatformUser | undefined {
  return users.find((user) => user.userId === userId);
}
