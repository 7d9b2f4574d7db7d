/** When something happened, as short as a list needs it: `now`, `5 min`, `14:03`, `Mon`, `3 Aug`. */
export function shortTime(iso: string, now: Date): string {
  const then = new Date(iso);
  const minutes = Math.floor((now.getTime() - then.getTime()) / 60_000);
  if (Number.isNaN(minutes)) return "";
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min`;
  if (then.toDateString() === now.toDateString())
    return then.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
  if (minutes < 6 * 24 * 60) return then.toLocaleDateString(undefined, { weekday: "short" });
  return then.toLocaleDateString(undefined, { day: "numeric", month: "short" });
}
