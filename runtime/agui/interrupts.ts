import type { Resolution } from "../../machines/protocol/commands.ts";
import type { PendingInteraction } from "../../machines/protocol/interactions.ts";
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
  return { type: "object", properties: { selected: schema, text: { type: "string" } }, required: ["selected"] };
}

/** The interaction that an entry names; an id without a revision means the one that is open now. */
export function answeredBy({ interruptId }: ResumeEntry, open: PendingInteraction | null): Answered | undefined {
  const [, id, revision] = /^([0-9a-f-]{36})(?:\.(\d{1,9}))?$/.exec(interruptId.toLowerCase()) ?? [];
  if (id === undefined) return undefined;
  if (revision !== undefined) return { interactionId: id, revision: Number(revision) };
  return open?.id === id ? { interactionId: id, revision: open.revision } : undefined;
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
