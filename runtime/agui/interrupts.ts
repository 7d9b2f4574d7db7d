import { MOST_WORDS, type Resolution } from "../../machines/protocol/commands.ts";
import type { PendingInteraction } from "../../machines/protocol/interactions.ts";
import type { SignalData } from "../../machines/protocol/signals.ts";
import type { Interrupt } from "./events.ts";
import type { ResumeEntry } from "./run-input.ts";

/** What a `resume` entry answers: one revision of one interaction. */
export type Answered = { readonly interactionId: string; readonly revision: number };

/**
 * An open interaction as the interrupt that ends a run. Its id names the revision too: who accepts a proposal accepts
 * the one that was shown, and no later one.
 */
export function interruptOf(open: PendingInteraction): Interrupt {
  const { id, revision, kind, prompt, schema, options, proposal, expires_at } = open;
  return {
    id: `${id}.${revision}`,
    reason: kind,
    message: prompt,
    responseSchema: payloadSchema(kind, schema),
    ...(expires_at !== undefined && { expiresAt: expires_at }),
    metadata: {
      interaction_id: id,
      revision,
      ...(options && { options }),
      ...(proposal && { proposal }),
    },
  };
}

/** The payload of an answer is the resolution of PROTOCOL.md without its kind. */
function payloadSchema(kind: PendingInteraction["kind"], schema: PendingInteraction["schema"]) {
  if (kind === "plan_proposal") return { type: "object", properties: { edits: schema } };
  const text = { type: "string", maxLength: MOST_WORDS };
  return { type: "object", properties: { selected: schema, text }, required: ["selected"] };
}

/** What this conversation asked lately, the one that is open first, then the newest. */
export function askedIn({ turns, state }: Pick<SignalData<"resync">, "turns" | "state">): readonly Answered[] {
  const shown = turns
    .flatMap(({ blocks }) => blocks)
    .flatMap(({ type, content: { interaction_id: id, revision } }): Answered[] => {
      const isQuestion = type === "interaction_request" && typeof id === "string" && typeof revision === "number";
      return isQuestion ? [{ interactionId: id, revision }] : [];
    });
  const { pending_interaction: open } = state;
  return [...(open ? [{ interactionId: open.id, revision: open.revision }] : []), ...shown.toReversed()];
}

/** The interaction that an entry names; an id without a revision means the first of that id in `asked`. */
export function answeredBy({ interruptId }: ResumeEntry, asked: readonly Answered[]): Answered | undefined {
  const [, id, revision] = /^([0-9a-f-]{36})(?:\.(\d{1,9}))?$/.exec(interruptId.toLowerCase()) ?? [];
  if (id === undefined) return undefined;
  if (revision !== undefined) return { interactionId: id, revision: Number(revision) };
  return asked.find(({ interactionId }) => interactionId === id);
}

/** The one entry that this run is about: that of the newest question it names, so that it stays the same when posted again. */
export function entryOf(resume: readonly ResumeEntry[], asked: readonly Answered[]): ResumeEntry | undefined {
  const named = resume.map((entry) => ({ entry, id: answeredBy(entry, asked)?.interactionId }));
  const newest = asked.find(({ interactionId }) => named.some(({ id }) => id === interactionId));
  return (newest && named.find(({ id }) => id === newest.interactionId)?.entry) ?? resume[0];
}

/** What was answered. Whether it fits the interaction, the session decides. */
export function resolutionOf({ status, payload }: ResumeEntry): Resolution {
  const given = isRecord(payload) ? payload : {};
  const reason = typeof payload === "string" ? payload : given["reason"];
  if (status === "cancelled" || given["kind"] === "dismissed") {
    return { kind: "dismissed", ...(typeof reason === "string" && { reason }) };
  }
  const selected = typeof payload === "string" ? [payload] : Array.isArray(payload) ? payload : given["selected"];
  if (selected !== undefined) {
    const text = given["text"];
    return { kind: "answered", selected: selected as string[], ...(typeof text === "string" && { text }) };
  }
  return { kind: "accepted", ...(given["edits"] !== undefined && { edits: given["edits"] }) };
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
