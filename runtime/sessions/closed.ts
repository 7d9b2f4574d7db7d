import type { PendingInteraction } from "../../machines/protocol/interactions.ts";
import type { Audience } from "./audience.ts";
import type { Row } from "./resident.ts";

/** Commands that were admitted while it was open have closed it: clients hear how. */
export function showClosed(audience: Audience, asked: PendingInteraction, rows: readonly Row[], now: number): void {
  const base = { interaction_id: asked.id };
  const answer = rows.find((row) => isAnswer(row, asked));
  if (answer?.kind === "resolve") {
    audience.show("interaction_resolved", { ...base, resolution: answer.body.resolution, by: "user" });
    return;
  }
  const isOver = asked.expires_at !== undefined && Date.parse(asked.expires_at) <= now;
  audience.show("interaction_resolved", { ...base, resolution: null, by: isOver ? "expired" : "superseded" });
}

const isAnswer = ({ kind, body }: Row, { id, revision }: PendingInteraction): boolean =>
  kind === "resolve" && body.interaction_id === id && body.revision === revision;
