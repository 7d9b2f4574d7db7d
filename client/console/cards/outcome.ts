import { never } from "../../../machines/failure.ts";
import type { CardData } from "../../../machines/protocol/cards.ts";
import type { Resolution } from "../../../machines/protocol/commands.ts";
import type { Ended, Standing } from "../../interactions.ts";
import type { View } from "../../view.ts";
import { endedText } from "../../words.ts";

/** How an interaction that can't be answered any more ended. */
export type Outcome = {
  readonly badge: { readonly tone: "" | "good"; readonly words: string };
  /** One sentence; absent where the marked answer says it all. */
  readonly words?: string;
  readonly resolution?: Resolution;
};

type Data = Pick<CardData<"interaction_request">, "interaction_id" | "expires_at">;

/** `now` is the server's clock. `told` is what the server said to an answer that came too late. */
export function outcomeOf(view: View, data: Data, stands: Standing, now: number, told?: string): Outcome {
  const late = told === undefined ? {} : { words: told };
  switch (stands.kind) {
    case "open":
    case "settling":
      return { ...plain("Closed"), ...late };
    case "revised":
      return plain("Replaced", "A newer version of this proposal took its place.");
    case "closed":
      return { ...endOf(stands.ended ?? endByTurns(view, data, now)), ...late };
    default:
      return never(stands);
  }
}

const plain = (badge: string, words?: string): Outcome => ({
  badge: { tone: "", words: badge },
  ...(words !== undefined && { words }),
});
const good = (badge: string): Outcome => ({ badge: { tone: "good", words: badge } });

/**
 * How it ended, by what is stored: an answer would be the input of a later turn. Undefined when it can have expired as well
 * as been withdrawn. `unasked`: the turn that asked did not end well, so it was never open.
 */
function endByTurns(
  { turns }: View,
  { interaction_id: id, expires_at }: Data,
  now: number,
): Ended | "unasked" | undefined {
  const asks = turns.findLast(({ blocks }) => blocks.some(({ content }) => content["interaction_id"] === id));
  if (asks === undefined) return undefined;
  if (asks.ending?.kind === "failed" || asks.ending?.kind === "cancelled") return "unasked";
  if (expires_at === undefined || Date.parse(expires_at) > now) return { by: "superseded" };
  return turns.at(-1) === asks ? { by: "expired" } : undefined;
}

function endOf(ended: Ended | "unasked" | undefined): Outcome {
  if (ended === "unasked") return plain("Closed", "This was not asked in the end: the answer broke off.");
  if (ended === undefined) return plain("Closed", "Closed without an answer.");
  if (ended.by !== "user") return plain(ended.by === "expired" ? "Expired" : "Withdrawn", endedText(ended));
  const { resolution } = ended;
  switch (resolution?.kind) {
    case undefined:
      return { ...good("Answered"), words: endedText(ended) };
    case "answered":
      return { ...good("Answered"), resolution, ...quoted(resolution.text) };
    case "accepted":
      return { ...good(resolution.edits === undefined ? "Accepted" : "Accepted with changes"), resolution };
    case "dismissed":
      return { ...plain("Dismissed"), resolution, ...quoted(resolution.reason) };
    default:
      return never(resolution);
  }
}

const quoted = (words = ""): Pick<Outcome, "words"> => (words === "" ? {} : { words: `“${words}”` });
