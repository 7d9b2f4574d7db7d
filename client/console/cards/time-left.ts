const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** How long something can still be answered, for people. Rounded down, so that nobody counts on a minute too many. */
export function timeLeftText(ms: number): string {
  if (ms <= 0) return "Expired";
  if (ms < MINUTE) return `Expires in ${Math.ceil(ms / SECOND)} s`;
  if (ms < 2 * HOUR) return `Expires in ${Math.floor(ms / MINUTE)} min`;
  if (ms < 48 * HOUR) return `Expires in ${Math.floor(ms / HOUR)} h`;
  return `Expires in ${Math.floor(ms / HOUR / 24)} days`;
}

/** When that text is next another one, milliseconds from now; undefined when it stays. */
export function textChangesIn(ms: number): number | undefined {
  if (ms <= 0) return undefined;
  const unit = ms <= MINUTE ? SECOND : MINUTE;
  return (ms % unit) + 1;
}
