import { z } from "zod";
import { changeIn } from "./change.ts";
import type { Product } from "./data.ts";
import { knownProducts } from "./rules/recommended.ts";
import type { Exchange, Scene } from "./scene.ts";
import type { Closing } from "./told.ts";

const Item = z.looseObject({ variant_id: z.string(), dosing: z.string(), rationale: z.string() });
const Args = z.looseObject({ patient_id: z.string(), title: z.string(), items: z.array(Item) });
export type ProposalArgs = z.infer<typeof Args>;
export type ProposedItem = ProposalArgs["items"][number];

/** A proposal before it is put to the user, and what is said in front of it. */
export type Offer = { readonly args: Readonly<Record<string, unknown>>; readonly say: readonly string[] };

/** The newest proposal of the conversation and what became of it. */
export type LastProposal = {
  readonly args: ProposalArgs;
  /** Known once it was decided or withdrawn. */
  readonly id: string | null;
  readonly state: "open" | Closing["end"]["how"];
  /** It was accepted, and the system could not store it. */
  readonly failed: boolean;
  /** It ended with the open message, or nothing but wishes for a change came in between. */
  readonly isFresh: boolean;
};

/** Calls of the open exchange are left out: a plan that runs again from its start must see the same past. */
export function lastProposal(scene: Scene): LastProposal | null {
  let last: LastProposal | null = null;
  let before: Exchange = scene.now;
  for (const exchange of [...scene.past, scene.now]) {
    if (last !== null) last = ended(last, exchange, before);
    before = exchange;
    const call = exchange === scene.now ? undefined : exchange.done.findLast(isProposal);
    const args = Args.safeParse(call?.args);
    if (args.success) last = { args: args.data, id: null, state: "open", failed: false, isFresh: false };
  }
  return last;
}

const isProposal = ({ tool, outcome }: Exchange["done"][number]): boolean =>
  tool === "propose_plan" && outcome.kind !== "error";

function ended(last: LastProposal, { opened, told }: Exchange, before: Exchange): LastProposal {
  const closings = [...told.flatMap((each) => (each.kind === "closing" ? [each] : [])), ...(opened ? [opened] : [])];
  const closing = closings.find(({ asked }) => asked === "plan_proposal");
  const failed = last.failed || told.some(({ kind }) => kind === "not_stored");
  if (closing === undefined || last.state !== "open")
    return { ...last, failed, isFresh: last.isFresh && changeIn(before.question) !== undefined };
  return { ...last, id: closing.interaction, state: closing.end.how, failed, isFresh: true };
}

/** The product of a proposed item, as far as the request still shows its search. */
export const productOf = (scene: Scene, { variant_id }: ProposedItem): Product | null =>
  knownProducts(scene).find((each) => each.availableOrMasterVariant?.id === variant_id) ?? null;
