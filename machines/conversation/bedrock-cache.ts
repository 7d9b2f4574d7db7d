import type { CachePointBlock, Message } from "@aws-sdk/client-bedrock-runtime";

/** Ends a prefix that the provider may keep: tools, system, and the last two user messages make the four it allows. */
export const CACHE_POINT = { cachePoint: { type: "default" } satisfies CachePointBlock } as const;

const MESSAGE_POINTS = 2;

/**
 * Marks the ends of the last user messages: the last one for the next request, the one before it because the previous
 * request ended there. A user message holds no reasoning, and the mark is a sibling after its results.
 */
export function withCachePoints(messages: readonly Message[]): readonly Message[] {
  const users = messages.flatMap(({ role }, at) => (role === "user" ? [at] : []));
  const marked = new Set(users.slice(-MESSAGE_POINTS));
  return messages.map((message, at) =>
    marked.has(at) ? { ...message, content: [...(message.content ?? []), CACHE_POINT] } : message,
  );
}
