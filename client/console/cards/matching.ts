import type { InteractionOption } from "../../../machines/protocol/interactions.ts";

const plain = (text: string): string => text.normalize("NFD").replaceAll(/\p{M}/gu, "").toLowerCase();

/** Options that hold every word typed, in label, detail or id; accents and case make no difference. */
export function matching(options: readonly InteractionOption[], typed: string): readonly InteractionOption[] {
  const words = plain(typed).split(/\s+/).filter(Boolean);
  return options.filter(({ id, label, detail = "" }) => {
    const text = plain(`${label} ${detail} ${id}`);
    return words.every((word) => text.includes(word));
  });
}

/** `Ann Lee, born 1970-01-02` → name and the rest; a label of another form is all name. */
export function nameAndBirth({ label, detail = "" }: InteractionOption): {
  readonly name: string;
  readonly rest: string;
} {
  const [, name, born] = /^(.+), (born .+)$/.exec(label) ?? [];
  return { name: name ?? label, rest: [born ?? "", detail].filter((part) => part !== "").join(" · ") };
}
