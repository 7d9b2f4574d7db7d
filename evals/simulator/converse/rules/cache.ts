import { firstOf, inBlocks, type Rule } from "./rule.ts";

const LIMIT = 4;

export const cachePointsFew: Rule = ({ messages = [], system = [], toolConfig }) => {
  const everywhere = [...system, ...(toolConfig?.tools ?? []), ...messages.flatMap(({ content }) => content)];
  const points = everywhere.filter(({ cachePoint }) => cachePoint !== undefined).length;
  return points > LIMIT ? `cachePoint: ${points} given, at most ${LIMIT} allowed` : undefined;
};

export const cachePointNotAfterReasoning: Rule = (request) =>
  inBlocks(request, ({ cachePoint }, _role, index, all) =>
    cachePoint !== undefined && all[index - 1]?.reasoningContent !== undefined
      ? "cache points cannot be inserted after reasoning blocks"
      : undefined,
  );

export const cachePointNotInResult: Rule = (request) =>
  inBlocks(request, ({ toolResult }) =>
    toolResult?.content.some(({ cachePoint }) => cachePoint !== undefined) === true
      ? "cachePoint is not a member of toolResult content"
      : undefined,
  );

/** It ends a prefix, so there must be one. */
export const cachePointEndsSomething: Rule = ({ messages = [], system = [], toolConfig }) =>
  firstOf([system, toolConfig?.tools ?? [], ...messages.map(({ content }) => content)], (list) =>
    list[0]?.cachePoint === undefined ? undefined : "a cachePoint has nothing before it",
  );
