import type { Resolution } from "../protocol/commands.ts";
import {
  type InteractionKind,
  type InteractionOption,
  type PendingInteraction,
  type Proposal,
  proposalEdits,
} from "../protocol/interactions.ts";
import type { Entry, InteractionEntry } from "./entries.ts";

/** What a tool asks a person; the runtime gives it its id, revision and end. */
export type AskedInteraction = {
  readonly kind: InteractionKind;
  readonly prompt: string;
  readonly options?: readonly InteractionOption[];
  /** A picker whose options are not all there are: any other id is taken too. */
  readonly openEnded?: true;
  readonly proposal?: Proposal;
  /** Milliseconds until nobody may answer any more. */
  readonly expiresInMs?: number;
};

export type ResolvedStatus = "answered" | "accepted" | "dismissed";

export type Checked =
  | { readonly ok: true; readonly status: ResolvedStatus }
  /** For the person who sent it. */
  | { readonly ok: false; readonly problem: string };

/** JSON Schema of what an answer's `selected` may be; of `edits` for a proposal. */
export function answerSchema(asked: AskedInteraction): Record<string, unknown> {
  const ids = (asked.options ?? []).map(({ id }) => id);
  const item = asked.openEnded ? { type: "string", minLength: 1, maxLength: 200 } : { type: "string", enum: ids };
  switch (asked.kind) {
    case "single_choice":
    case "patient_picker":
      return { type: "array", items: item, minItems: 1, maxItems: 1 };
    case "multi_choice":
      return { type: "array", items: item, minItems: 1, maxItems: Math.max(1, ids.length), uniqueItems: true };
    case "plan_proposal": {
      const variants = (asked.proposal?.items ?? []).map(({ variant_id }) => variant_id);
      const edited = {
        type: "object",
        properties: {
          variant_id: { type: "string", enum: variants },
          dosing: { type: "string", minLength: 1, maxLength: 500 },
        },
        required: ["variant_id", "dosing"],
      };
      return {
        type: "object",
        properties: {
          title: { type: "string", minLength: 1, maxLength: 200 },
          items: { type: "array", items: edited, minItems: 1, description: "The whole list: left out is dropped." },
          notes: { type: "string", maxLength: 4000 },
        },
      };
    }
  }
}

/** Whether a resolution fits what was asked. */
export function checkResolution(pending: PendingInteraction, resolution: Resolution): Checked {
  switch (resolution.kind) {
    case "dismissed":
      return { ok: true, status: "dismissed" };
    case "accepted":
      return accepted(pending, resolution.edits);
    case "answered":
      return answered(pending, resolution.selected);
  }
}

function answered(pending: PendingInteraction, selected: readonly string[]): Checked {
  const no = (problem: string): Checked => ({ ok: false, problem });
  if (pending.kind === "plan_proposal") return no("a proposal is accepted or dismissed");
  if (selected.length === 0) return no("choose an option");
  if (pending.kind !== "multi_choice" && selected.length > 1) return no("choose one option only");
  if (new Set(selected).size < selected.length) return no("an option is named twice");
  const offered = new Set((pending.options ?? []).map(({ id }) => id));
  const isOpenEnded = pending.kind === "patient_picker" && !JSON.stringify(pending.schema).includes('"enum"');
  if (isOpenEnded) return selected.every((id) => id !== "" && id.length <= 200) ? yes : no("that is no patient id");
  return selected.every((id) => offered.has(id)) ? yes : no("that option was not offered");
}

const yes: Checked = { ok: true, status: "answered" };

function accepted(pending: PendingInteraction, edits: unknown): Checked {
  if (pending.proposal === undefined) return { ok: false, problem: "a question is answered or dismissed" };
  const read = proposalEdits.safeParse(edits ?? {});
  if (!read.success) {
    const [issue] = read.error.issues;
    return { ok: false, problem: `the edits can't be used: ${issue?.path.join(".") ?? ""} ${issue?.message ?? ""}` };
  }
  const proposed = new Set(pending.proposal.items.map(({ variant_id }) => variant_id));
  const wanted = (read.data.items ?? []).map(({ variant_id }) => variant_id);
  if (new Set(wanted).size < wanted.length) return { ok: false, problem: "a product is named twice in the edits" };
  if (wanted.some((id) => !proposed.has(id)))
    return { ok: false, problem: "the edits name a product that was not proposed" };
  return { ok: true, status: "accepted" };
}

/** The proposal as the person wants it. `edits` were checked. */
export function editedProposal(proposal: Proposal, edits: unknown): Proposal {
  const { title, items, notes } = proposalEdits.parse(edits ?? {});
  const dosing = items && new Map(items.map((item) => [item.variant_id, item.dosing]));
  return {
    ...proposal,
    ...(title !== undefined && { title }),
    ...(notes !== undefined && { notes }),
    items: proposal.items
      .filter(({ variant_id }) => dosing?.has(variant_id) ?? true)
      .map((item) => ({ ...item, dosing: dosing?.get(item.variant_id) ?? item.dosing })),
  };
}

const changed = (edits: unknown): boolean => Object.keys(proposalEdits.parse(edits ?? {})).length > 0;

const quoted = (text: string): string => JSON.stringify(text.toWellFormed());

function labelsOf(pending: PendingInteraction, selected: readonly string[]): readonly string[] {
  return selected.map((id) => pending.options?.find((option) => option.id === id)?.label ?? id);
}

/** A resolution in words, for people. */
export function resolutionLabel(pending: PendingInteraction, resolution: Resolution): string {
  switch (resolution.kind) {
    case "answered": {
      const chosen = labelsOf(pending, resolution.selected).join(", ");
      return resolution.text?.trim() ? `${chosen}: ${resolution.text.trim()}` : chosen;
    }
    case "accepted":
      return changed(resolution.edits) ? "Accepted with changes" : "Accepted";
    case "dismissed":
      return resolution.reason?.trim() ? `Dismissed: ${resolution.reason.trim()}` : "Dismissed";
  }
}

/** What the model reads of a resolution. The user's own words are quoted. */
export function resolutionText(pending: PendingInteraction, resolution: Resolution): string {
  const asked = `[Interaction ${pending.id}, ${pending.kind}: ${quoted(pending.prompt)}.`;
  switch (resolution.kind) {
    case "answered": {
      const chosen = resolution.selected.map((id) => `${labelsOf(pending, [id]).join("")} (${id})`);
      const said = resolution.text?.trim() ? ` The user added: ${quoted(resolution.text.trim())}.` : "";
      return `${asked} The user chose: ${chosen.join("; ")}.${said}]`;
    }
    case "accepted":
      return `${asked} The user accepted the proposal${changed(resolution.edits) ? " with changes" : ""}. The system stores the plan itself: do not store it again.]`;
    case "dismissed": {
      const why = resolution.reason?.trim() ? ` Reason: ${quoted(resolution.reason.trim())}.` : "";
      return `${asked} The user dismissed it.${why}]`;
    }
  }
}

/** What the model reads of an interaction that ended without an answer. */
export function closedText(pending: PendingInteraction, by: "superseded" | "expired"): string {
  const why =
    by === "expired"
      ? "It expired without an answer"
      : "It was withdrawn without an answer: the user did not wait for it";
  return `[Interaction ${pending.id}, ${pending.kind}: ${quoted(pending.prompt)}. ${why}. Nothing was decided by it.]`;
}

/** What `unresolved` finds once `next` has joined a history for which it found `before`. */
export function stillUnresolved(before: InteractionEntry | undefined, next: Entry): InteractionEntry | undefined {
  if (next.kind === "interaction") return next;
  return next.kind === "resolution" && next.interactionId === before?.interactionId ? undefined : before;
}

/** The interaction whose end is not in this history yet: at most one, of the last turn that ended with one. */
export function unresolved(entries: readonly Entry[]): InteractionEntry | undefined {
  const at = entries.findLastIndex((entry) => entry.kind === "interaction");
  const last = entries[at];
  if (last?.kind !== "interaction") return undefined;
  const isClosed = entries
    .slice(at)
    .some((entry) => entry.kind === "resolution" && entry.interactionId === last.interactionId);
  return isClosed ? undefined : last;
}
