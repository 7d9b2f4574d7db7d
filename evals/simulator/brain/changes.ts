import { choose } from "./asking.ts";
import type { Change } from "./change.ts";
import { type Product, Products } from "./data.ts";
import { dosing, naming, pick, wishes } from "./pick.ts";
import { type ProposalArgs, type ProposedItem, productOf } from "./proposal.ts";
import type { Scene } from "./scene.ts";
import { ask, need, PlanStopped, type Steps } from "./steps.ts";
import { nouns } from "./words.ts";

export type Known = { readonly item: ProposedItem; readonly product: Product | null };
export type Changed = Pick<ProposalArgs, "title"> & {
  readonly items: readonly ProposedItem[];
  readonly said: string;
  /** Products that are new in the proposal, under the name they were asked for. */
  readonly added: readonly { readonly name: string; readonly product: Product; readonly variantId: string }[];
};

/** The proposed items with their products; a search that the request no longer shows is made again. */
export function* knownItems(scene: Scene, items: readonly ProposedItem[]): Steps<readonly Known[]> {
  const known = items.map((item) => ({ item, product: productOf(scene, item) }));
  const lost = known.flatMap(({ item, product }) => (product === null ? [item.variant_id] : []));
  if (lost.length === 0) return known;
  const { products } = need(
    yield* ask("product_search", { variantIds: lost, limit: lost.length }),
    "product search",
    Products,
  ).data;
  const found = (id: string) => products.find((each) => each.availableOrMasterVariant?.id === id) ?? null;
  return known.map(({ item, product }) => ({ item, product: product ?? found(item.variant_id) }));
}

/** The proposal as the message wants it; ends the plan with a sentence when that can't be done. */
export function* changed(scene: Scene, message: string, change: Change, args: ProposalArgs): Steps<Changed> {
  const known = yield* knownItems(scene, args.items);
  const same = { title: args.title, items: args.items, added: [] };
  switch (change.kind) {
    case "again":
      return { ...same, said: "the same as before" };
    case "title":
      return { ...same, title: change.title, said: `the title “${change.title}”` };
    case "drop": {
      const out = mentioned(known, message);
      if (out.length === 0) throw new PlanStopped(notInIt(message, known));
      return { ...same, ...without(args, out), said: `without ${labels(out)}` };
    }
    case "swap": {
      const out = mentioned(known, change.out);
      if (out.length === 0) throw new PlanStopped(notInIt(change.out, known));
      const more = yield* found(scene, change.for);
      const items = [...args.items.filter((item) => !out.some((each) => each.item === item)), ...more.items];
      return { ...same, items, added: more.added, said: `${more.said} instead of ${labels(out)}` };
    }
    case "amount":
    case "dosing": {
      const targets = yield* meant(scene, message, change, known);
      const dosings = new Map(targets.map((each) => [each.item, dosed(each, change)]));
      const items = args.items.map((item) => ({ ...item, dosing: dosings.get(item) ?? item.dosing }));
      return { ...same, items, said: `${labels(targets)}: ${[...new Set(dosings.values())].join(", ")}` };
    }
    case "add": {
      const more = yield* found(scene, message);
      const items = [
        ...args.items,
        ...more.items.filter((one) => !args.items.some((item) => item.variant_id === one.variant_id)),
      ];
      return { ...same, items, added: more.added, said: `with ${more.said}` };
    }
  }
}

const label = ({ item, product }: Known): string => product?.name ?? item.variant_id;
const labels = (all: readonly Known[]): string => all.map(label).join(" and ");
const notInIt = (words: string, known: readonly Known[]): string =>
  `I don't see which item you mean by “${words.trim()}”. The proposal holds ${labels(known)}. Nothing was saved.`;

/** The items that a text names. */
export function mentioned(known: readonly Known[], text: string): readonly Known[] {
  const names = nouns(text);
  return known.filter(({ product }) => product !== null && names.some((name) => naming([product], name).literal));
}

function without(args: ProposalArgs, out: readonly Known[]): Pick<ProposalArgs, "items"> {
  const items = args.items.filter((item) => !out.some((each) => each.item === item));
  if (items.length > 0) return { items };
  throw new PlanStopped("Then nothing is left of the proposal, so I propose nothing. Nothing was saved.");
}

type Dosing = Extract<Change, { kind: "amount" | "dosing" }>;

/** Which items a new dose is for: the ones named, all, the one whose unit fits; else the user is asked. */
function* meant(scene: Scene, message: string, change: Dosing, known: readonly Known[]): Steps<readonly Known[]> {
  const named = mentioned(known, message);
  if (named.length > 0) return named;
  if (/\b(all|both|each|them)\b/i.test(message)) return known;
  const fitting = known.filter((each) => change.kind === "dosing" || fits(each, change.unit));
  if (fitting.length === 1) return fitting;
  if (fitting.length === 0) throw new PlanStopped(notInIt(message, known));
  const options = fitting.map((each) => ({ id: each.item.variant_id, label: label(each) }));
  const { chosen } = yield* choose(scene, {
    question: `Which item do you mean by “${message}”?`,
    kind: "single_choice",
    options,
  });
  return fitting.filter(({ item }) => item.variant_id === chosen[0]?.id);
}

const unitOf = ({ product }: Known): string =>
  (product?.ingredients?.[0]?.unit ?? "").split(" ")[0]?.toLowerCase() ?? "";
const fits = (known: Known, unit: string): boolean => unitOf(known) === unit.toLowerCase();

/** The dosing in words. An amount becomes servings where they come out even; above the upper limit nothing is changed. */
function dosed(known: Known, change: Dosing): string {
  if (change.kind === "dosing") return change.dosing;
  const { amount, unit } = change;
  const serving = known.product?.ingredients?.[0]?.amount ?? 0;
  const limit = [known.product?.upperLimit].flat()[0];
  const sameUnit = limit?.unit?.split(" ")[0]?.toLowerCase() === unit.toLowerCase();
  if (sameUnit && typeof limit?.value === "number" && amount > limit.value)
    throw new PlanStopped(
      `${amount} ${unit} of ${label(known)} is above the upper limit of ${limit.value} ${limit.unit ?? unit} a day, so I did not change the proposal. Nothing was saved.`,
    );
  const servings = serving > 0 && fits(known, unit) ? amount / serving : 0;
  if (!Number.isInteger(servings) || servings < 1) return `${amount} ${unit} daily`;
  return `${servings} serving${servings === 1 ? "" : "s"} daily (${amount} ${unit})`;
}

/** Products for what a text names. */
function* found(
  scene: Scene,
  text: string,
): Steps<Pick<Changed, "added"> & { readonly items: readonly ProposedItem[]; readonly said: string }> {
  const names = nouns(text).slice(0, 4);
  if (names.length === 0) throw new PlanStopped("What should go into the proposal? Name a product or a supplement.");
  const items: ProposedItem[] = [];
  const added: { name: string; product: Product; variantId: string }[] = [];
  for (const name of names) {
    const outcome = yield* ask("product_search", { query: name, limit: 10 });
    const { literal, list } = naming(need(outcome, "product search", Products).data.products, name);
    const wants = wishes(scene.now.question, null, scene.now.context.preferences);
    const best = literal ? pick(list, wants, 1).choices[0] : undefined;
    if (best === undefined)
      throw new PlanStopped(`I found no suitable product in stock for ${name}, so I did not change the proposal.`);
    items.push({ variant_id: best.variantId, dosing: dosing(best.product), rationale: "You asked for it." });
    added.push({ name, product: best.product, variantId: best.variantId });
  }
  return { items, added, said: added.map(({ product }) => product.name).join(" and ") };
}
