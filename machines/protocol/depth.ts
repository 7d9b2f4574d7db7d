/** Levels of objects and lists in what a client may send. Far more than any of it needs, far fewer than a stack holds. */
export const MOST_LEVELS = 64;

/** Whether parsed JSON nests deeper than may be sent: what is deeper can't be written as JSON again, or read by others. */
export function isTooDeep(value: unknown, levels = MOST_LEVELS): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isTooDeep(inner, levels - 1));
}
