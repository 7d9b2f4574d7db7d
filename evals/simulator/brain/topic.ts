import { type Person, personIn } from "./people.ts";
import type { Exchange, Scene } from "./scene.ts";
import { isPurpose } from "./stop-words.ts";
import { nouns, without } from "./words.ts";

/** What a question is about. `names` are drugs, supplements or other things; `purposes` are complaints and aims. */
export type Topic = {
  readonly names: readonly string[];
  readonly purposes: readonly string[];
  readonly person: Person;
};

export const isFollowUp = (question: string): boolean =>
  /^(and|what about|how about|also|or|same|then|for|with|(ok|okay|yes|no)[, ]+(and|what about|how about))\b/i.test(
    question.trim(),
  );

/** Whether a question says "it" or "that" and so needs an earlier one. */
export const pointsBack = (question: string): boolean => /\b(it|that|those|them|these|this one)\b/i.test(question);

/** Reads one question alone. */
export function topicOf(question: string): Topic {
  const person = personIn(question);
  const found = nouns(without(question, person.kind === "named" ? person.name : null));
  return {
    names: found.filter((noun) => !isPurpose(noun)),
    purposes: found.filter((noun) => isPurpose(noun)),
    person,
  };
}

/** Reads the open question; what a follow-up or a pronoun leaves open comes from earlier questions. */
export function topic(scene: Scene): Topic {
  const own = topicOf(scene.now.question);
  if (scene.follows !== null) {
    // Follow-ups on the way count too: "recommend zinc", "for <patient>", "and iron?" is about that patient.
    const chain = scene.past.slice(scene.past.indexOf(scene.follows)).map(({ question }) => topicOf(question));
    return [...chain, own].reduce((before, next) => over(before, next));
  }
  const back = pointsBack(scene.now.question) ? lastNaming(scene.past) : null;
  return back === null ? own : over(back, own);
}

const over = (before: Topic, next: Topic): Topic => ({
  names: next.names.length > 0 ? next.names : before.names,
  purposes: next.names.length > 0 || next.purposes.length > 0 ? next.purposes : before.purposes,
  person: next.person.kind === "nobody" ? before.person : next.person,
});

/** The newest earlier exchange whose question names a thing, with its topic. */
export function lastNaming(past: readonly Exchange[]): (Topic & { readonly exchange: Exchange }) | null {
  for (const exchange of [...past].reverse()) {
    const found = topicOf(exchange.question);
    if (found.names.length > 0) return { ...found, exchange };
  }
  return null;
}

/** The names of a topic when its person turned out to be none: a thing may look like a name. */
export const withPersonAsName = ({ names, person }: Topic): readonly string[] =>
  person.kind === "named" ? [person.name, ...names] : names;

/** What a question is about apart from people. A word that may be a person counts as a thing when nothing else is named. */
export function things(scene: Scene): { readonly names: readonly string[]; readonly purposes: readonly string[] } {
  const own = topicOf(scene.now.question);
  const unsure = own.person.kind === "named" && (!own.person.sure || own.names.length === 0);
  const names = unsure ? withPersonAsName(own) : own.names;
  const { names: carried, purposes } = topic(scene);
  return { names: names.length > 0 ? names : carried, purposes };
}
