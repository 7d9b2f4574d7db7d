import { readdirSync, readFileSync } from "node:fs";
import { cpus } from "node:os";

/** Seconds of processor time that each part has used so far. Empty where the system does not tell. */
export type Used = Readonly<Record<string, number>>;

export type Part = {
  readonly pid: number;
  /** Its children count too: a database server works in them. */
  readonly withChildren?: boolean;
};

const TICKS_A_SECOND = 100;

/** `parts` by name, this process as *clients*, and everything else on the machine as *others*. */
export function used(parts: Readonly<Record<string, Part>>): Used {
  if (process.platform !== "linux") return {};
  const { user, system } = process.cpuUsage();
  const ours: Record<string, number> = { clients: (user + system) / 1e6 };
  for (const [name, { pid, withChildren = false }] of Object.entries(parts)) {
    const own = withChildren ? treeTicks(pid) : (statOf(pid)?.own ?? 0);
    ours[name] = own / TICKS_A_SECOND;
  }
  const sum = Object.values(ours).reduce((total, one) => total + one, 0);
  return { ...ours, others: busySeconds() - sum };
}

/** What was used between two readings, in processors: 1 is one of them all the time. */
export function shares(before: Used, after: Used, seconds: number): Used {
  return Object.fromEntries(
    Object.entries(after).map(([name, late]) => [name, (late - (before[name] ?? 0)) / seconds]),
  );
}

function busySeconds(): number {
  const each = cpus().map(({ times: { user, nice, sys, irq } }) => user + nice + sys + irq);
  return each.reduce((sum, one) => sum + one, 0) / 1_000;
}

/** A server, the children that ended, and those that run. */
function treeTicks(pid: number): number {
  const server = statOf(pid);
  if (server === undefined) return 0;
  const all = readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? (statOf(Number(name)) ?? []) : []));
  const children = all.filter(({ parent }) => parent === pid);
  return children.reduce((sum, { own }) => sum + own, server.own + server.ended);
}

type Stat = { readonly parent: number; readonly own: number; readonly ended: number };

/** Undefined once the process is gone. */
function statOf(pid: number): Stat | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  // The name before the bracket may hold anything.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const at = (index: number) => Number(fields[index]);
  return { parent: at(1), own: at(11) + at(12), ended: at(13) + at(14) };
}
