import { answerSchema } from "../../../machines/conversation/interactions.ts";
import type { PendingInteraction } from "../../../machines/protocol/interactions.ts";
import type { ToolAnswer, ToolResult } from "../../../tools/tool.ts";
import type { Batch } from "./run-tools.ts";

type Pause = Extract<ToolResult, { kind: "pause" }>;
type Asked = Extract<ToolAnswer, { kind: "ok" }> & { readonly asks: PendingInteraction };
type Refused = Extract<ToolAnswer, { kind: "error" }>;

const SHOWN =
  "Shown to the user, not answered yet. This turn ends here; what they decide comes at the start of the next one.";
const ONE_AT_A_TIME =
  "Only one question or proposal can be open at a time, so this one was not shown. Ask again once the other is answered.";

const refused = (text: string): Refused => ({ kind: "error", reason: "tool", text });

/** What a call that asks a person comes to: the first one of a turn is shown, with an id, a revision and an absolute end. */
export async function asking(batch: Batch, { asked, revises }: Pause): Promise<Asked | Refused> {
  if (batch.paused) return refused(ONE_AT_A_TIME);
  // Taken before anything is awaited: calls of one step run side by side.
  batch.paused = true;
  const place = await placeOf(batch, revises);
  if (typeof place === "string") {
    batch.paused = false;
    return refused(place);
  }
  const { clock } = batch.world;
  const { kind, prompt, options, proposal, expiresInMs } = asked;
  const asks: PendingInteraction = {
    ...place,
    kind,
    prompt,
    schema: answerSchema(asked),
    ...(options && { options: [...options] }),
    ...(proposal && { proposal }),
    ...(expiresInMs !== undefined && { expires_at: new Date(clock.now() + expiresInMs).toISOString() }),
  };
  return { kind: "ok", text: SHOWN, asks };
}

/** A new id, or the next revision of a proposal that nobody has accepted; else why not, for the model. */
async function placeOf(
  { resident, world }: Batch,
  revises: Pause["revises"],
): Promise<Pick<PendingInteraction, "id" | "revision"> | string> {
  if (revises === undefined) return { id: world.chance.uuid(), revision: 1 };
  const row = await resident.patiently(() => world.store.interactions.find(resident.id, revises));
  if (row?.pending.kind !== "plan_proposal")
    return "There is no such proposal in this conversation. Propose without `revises`.";
  if (row.status === "accepted") return "That proposal was accepted already. Propose a new one without `revises`.";
  return { id: revises, revision: row.pending.revision + 1 };
}
