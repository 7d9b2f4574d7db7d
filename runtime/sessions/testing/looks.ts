import type { SessionId } from "../../../machines/ids.ts";
import type { PlainSignal } from "../../../machines/protocol/signals.ts";
import type { Store } from "../../../persistence/store.ts";
import { decides, says, scriptedModel } from "../../models/scripted.ts";
import { takeOverFromPredecessors } from "../predecessors.ts";
import { Client, node, rivera, type SceneOptions } from "./scene.ts";

/** Says what the user said last. */
export const echo = decides((request) => {
  const last = request.entries.findLast((entry) => entry.kind === "user");
  return says(`echo ${last?.kind === "user" ? last.text : ""}`);
});

/** One node over `store` with a new session and one client on it. */
export async function sessionOn(store: Store, options: Partial<SceneOptions> = {}) {
  const one = node(store, { model: scriptedModel(echo), ...options });
  const id = await one.conversations.create(rivera);
  return { ...one, id, client: await Client.open(one.conversations, id) };
}

/** The process dies: its actors stop where they are. */
export function kill(dead: ReturnType<typeof node>): void {
  for (const resident of dead.directory.residents) resident.actor.stop();
}

/** What a process does first after the one before it died. */
export const takeOver = (one: ReturnType<typeof node>): Promise<void> =>
  takeOverFromPredecessors(one.world, true, () => undefined, new AbortController().signal);

/** Stored turns: number, what was said, outcome, the texts of the blocks. */
export async function turnsOf(store: Store, id: SessionId) {
  const turns = await store.turns.page(id, 100);
  return turns.map(({ n, input, outcome, blocks }) => [
    n,
    "text" in input ? input.text : "",
    outcome,
    ...blocks.map((block) => block.content["text"]),
  ]);
}

export const turnOf = (receipt: PlainSignal): string =>
  receipt.kind === "message_accepted" ? receipt.data.turn_id : receipt.kind;
export const codeOf = (receipt: PlainSignal): string => (receipt.kind === "error" ? receipt.data.code : receipt.kind);
export const cancelledOf = (receipt: PlainSignal) =>
  receipt.kind === "cancel_receipt" ? receipt.data.cancelled : receipt.kind;
