import type { Scene } from "../scene.ts";
import { topicOf } from "../topic.ts";
import { lastRecommended, type Recommended } from "./recommended.ts";

const ORDINALS = ["first", "second", "third", "fourth"];

/** Which of the last recommended products a question points at: by place, by words of its name, all of them, or "it". */
export function chosen(scene: Scene): readonly Recommended[] {
  const { question } = scene.now;
  const all = lastRecommended(scene);
  const place = ORDINALS.findIndex((word) => new RegExp(`\\b${word}\\b`, "i").test(question));
  if (place >= 0) return all.slice(place, place + 1);
  if (/\b(them|both|all|those|these)\b/i.test(question)) return all;
  const named = byName(all, question);
  if (named.length > 0) return named.slice(0, 1);
  // Something else was named: that is searched for, not taken from the list.
  return topicOf(question).names.length > 0 ? [] : all.slice(0, 1);
}

/** The products that share the most words with the question, best first; none when no word is shared. */
function byName(all: readonly Recommended[], question: string): readonly Recommended[] {
  const words = new Set(question.toLowerCase().split(/[^\p{L}\p{N}]+/u));
  const scored = all.map((each) => {
    const own = [each.product?.name, each.product?.brand, each.product?.form].join(" ").toLowerCase();
    return { each, score: own.split(/[^\p{L}\p{N}]+/u).filter((word) => word.length > 2 && words.has(word)).length };
  });
  return scored
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .map(({ each }) => each);
}
