import { readFileSync } from "node:fs";

/** A process that is not mistaken for a later one with the same number. `started` is null where /proc is missing. */
export type ProcessMark = { readonly pid: number; readonly started: string | null };

/** Of a zombie: it has a number and nothing else any more. */
const ENDED = "ended";

export function markOf(pid: number): ProcessMark {
  return { pid, started: startOf(pid) };
}

/** Whether the very process of the mark still runs (a zombie does not). */
export function isRunning(mark: ProcessMark): boolean {
  const presence = probe(mark.pid);
  if (presence === "gone") return false;
  if (mark.started === null) return true;
  if (mark.started === ENDED) return false;
  const started = startOf(mark.pid);
  // Another user's process can be hidden from /proc (hidepid); the signal probe still sees it.
  return started === null ? presence === "foreign" : started === mark.started;
}

/** Whether the number belongs to a process that has ended and was not collected by its parent yet. */
export function isZombie(pid: number): boolean {
  return startOf(pid) === ENDED;
}

function probe(pid: number): "ours" | "foreign" | "gone" {
  try {
    process.kill(pid, 0);
    return "ours";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM" ? "foreign" : "gone";
  }
}

/** Boot id and start tick: ticks alone repeat after a reboot. */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name before the last bracket may itself hold spaces and brackets.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (fields[0] === "Z" || fields[0] === "X") return ENDED;
    return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()}:${fields[19]}`;
  } catch {
    return null;
  }
}
