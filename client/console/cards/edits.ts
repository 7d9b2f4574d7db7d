import type { Proposal, ProposalEdits, ProposalItem } from "../../../machines/protocol/interactions.ts";

/** A proposal as it stands in its fields. */
export type Draft = { readonly title: string; readonly notes: string; readonly items: readonly DraftItem[] };
export type DraftItem = Pick<ProposalItem, "variant_id" | "dosing"> & { readonly removed: boolean };

/** What can't be accepted as it stands, in words, by field; items by their variant. */
export type Problems = { readonly title?: string; readonly items: Readonly<Record<string, string>> };

export const draftOf = ({ title, notes = "", items }: Proposal): Draft => ({
  title,
  notes,
  items: items.map(({ variant_id, dosing }) => ({ variant_id, dosing, removed: false })),
});

export const changeItem = (draft: Draft, variantId: string, change: Partial<DraftItem>): Draft => ({
  ...draft,
  items: draft.items.map((item) => (item.variant_id === variantId ? { ...item, ...change } : item)),
});

/** What was changed, as an acceptance wants it; undefined when nothing was. */
export function editsOf(proposal: Proposal, draft: Draft): ProposalEdits | undefined {
  const kept = draft.items.filter(({ removed }) => !removed);
  const isSame = ({ variant_id, dosing, removed }: DraftItem) =>
    !removed && proposal.items.some((item) => item.variant_id === variant_id && same(item.dosing, dosing));
  const edits: ProposalEdits = {
    ...(!same(draft.title, proposal.title) && { title: draft.title.trim() }),
    ...(!draft.items.every(isSame) && {
      items: kept.map(({ variant_id, dosing }) => ({ variant_id, dosing: dosing.trim() })),
    }),
    ...(!same(draft.notes, proposal.notes ?? "") && { notes: draft.notes.trim() }),
  };
  return Object.keys(edits).length === 0 ? undefined : edits;
}

export function problemsOf(draft: Draft): Problems {
  const unsaid = draft.items.filter(({ removed, dosing }) => !removed && dosing.trim() === "");
  return {
    ...(draft.title.trim() === "" && { title: "A plan needs a title." }),
    items: Object.fromEntries(unsaid.map(({ variant_id }) => [variant_id, "Say how to take it, or remove the item."])),
  };
}

export const isFine = ({ title, items }: Problems): boolean => title === undefined && Object.keys(items).length === 0;

/** An item of a proposal as it was accepted. */
export type Accepted = ProposalItem & { readonly removed: boolean; readonly before?: string };

export function acceptedItems(proposal: Proposal, edits: ProposalEdits | undefined): readonly Accepted[] {
  return proposal.items.map((item) => {
    const kept = edits?.items?.find(({ variant_id }) => variant_id === item.variant_id);
    if (edits?.items === undefined) return { ...item, removed: false };
    if (kept === undefined) return { ...item, removed: true };
    const isChanged = !same(kept.dosing, item.dosing);
    return { ...item, dosing: kept.dosing, removed: false, ...(isChanged && { before: item.dosing }) };
  });
}

const same = (one: string, other: string): boolean => one.trim() === other.trim();
