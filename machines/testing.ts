import type { AnyStateMachine } from "xstate";

/** Every atomic state of a chart, as its dotted path. */
export function statesOf(machine: AnyStateMachine): readonly string[] {
  const found: string[] = [];
  const walk = (node: AnyStateMachine["root"]): void => {
    const children = Object.values(node.states);
    if (children.length === 0) found.push(node.path.join("."));
    for (const child of children) walk(child as AnyStateMachine["root"]);
  };
  walk(machine.root);
  return found.sort();
}

/**
 * Pairs of state and event that nobody decided: not handled, not left waiting, not refused by name. Final and
 * transient states take no events. `{}` in the chart is a decision: heard and left alone.
 */
export function undecided(machine: AnyStateMachine, events: readonly string[]): readonly string[] {
  const found: string[] = [];
  const walk = (node: AnyStateMachine["root"], inherited: ReadonlySet<string>): void => {
    const own = new Set([...inherited, ...Object.keys(node.config.on ?? {})]);
    const children = Object.values(node.states);
    for (const child of children) walk(child as AnyStateMachine["root"], own);
    if (children.length > 0 || node.type === "final" || (node.always?.length ?? 0) > 0) return;
    for (const event of events) if (!own.has(event)) found.push(`${node.path.join(".")} × ${event}`);
  };
  walk(machine.root, new Set());
  return found;
}
