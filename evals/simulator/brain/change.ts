/** What a message wants of a proposal, by the form of its words. */
export type Change =
  | { readonly kind: "again" }
  | { readonly kind: "title"; readonly title: string }
  | { readonly kind: "drop" }
  | { readonly kind: "swap"; readonly out: string; readonly for: string }
  | { readonly kind: "amount"; readonly amount: number; readonly unit: string }
  | { readonly kind: "dosing"; readonly dosing: string }
  | { readonly kind: "add" };

const AGAIN = /\b(propose|show|send|bring|offer|try|open)\b.*\bagain\b|\bonce more\b/i;
const TITLE = /\b(?:call|name|title) it ["“']?([^"”'.]+)/i;
const SWAP = /\b(?:replace|swap|exchange)\s+(?:the\s+)?(.+?)\s+(?:with|for|by)\s+(.+)/i;
const INSTEAD = /^(.+?)\s+instead of\s+(?:the\s+)?(.+)/i;
const DROP = /\b(without|drop|remove|leave out|skip|minus|omit|take out|take off)\b/i;
const AMOUNT = /(\d[\d,]*(?:\.\d+)?)\s*(mg|mcg|µg|ug|g|iu)\b/i;
const DOSING =
  /\b(?:make|change|set|take|give|use|put)\b(?:\s+(?:it|them|that|the\s+[\p{L}\p{N} -]+?|its dosing|the dosing))?\s+(?:to\s+|at\s+)?((?:\d+|one|two|three|half)\s+\p{L}+.*|once\b.*|twice\b.*|every\b.*|in the (?:morning|evening)\b.*|at (?:night|bedtime)\b.*|with (?:food|breakfast|lunch|dinner|a meal|meals)\b.*|before\b.*|after\b.*)$/iu;
const ADD = /\b(add|include)\b/i;
const ASKS =
  /^(what|which|why|when|where|who|how|is|are|am|does|do|did|should|can (?:i|she|he|they|we))\b(?! about\b)/i;
const FORGET = /\b(drop|forget|skip|leave|remove)\s+(it|that|this|the\s+(?:plan|proposal))$/i;
/** Beside which an amount is a wish; a few words alone are one too. */
const WISH = /\b(make|change|set|use|take|give|go|increase|raise|reduce|lower|only|rather|better|instead)\b/i;
const FEW_WORDS = 4;

/** Undefined for a message that asks for no change. */
export function changeIn(message: string): Change | undefined {
  const text = message.trim().replace(/[.!?]+$/, "");
  if (ASKS.test(text) || FORGET.test(text)) return undefined;
  const title = TITLE.exec(text)?.[1];
  if (title !== undefined) return { kind: "title", title: title.trim() };
  const [, out, better] = SWAP.exec(text) ?? [];
  if (out !== undefined && better !== undefined) return { kind: "swap", out, for: better };
  const [, rather, than] = INSTEAD.exec(text) ?? [];
  if (rather !== undefined && than !== undefined) return { kind: "swap", out: than, for: rather };
  if (DROP.test(text)) return { kind: "drop" };
  const [, amount, unit] = AMOUNT.exec(text) ?? [];
  if (amount !== undefined && unit !== undefined && (WISH.test(text) || text.split(/\s+/).length <= FEW_WORDS))
    return { kind: "amount", amount: Number(amount.replaceAll(",", "")), unit };
  const how = DOSING.exec(text)?.[1];
  if (how !== undefined) return { kind: "dosing", dosing: how.trim() };
  if (AGAIN.test(text)) return { kind: "again" };
  return ADD.test(text) ? { kind: "add" } : undefined;
}
