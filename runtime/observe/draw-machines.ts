import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AnyStateMachine } from "xstate";
import { compactionMachine } from "../../machines/compaction/compaction.machine.ts";
import { definitionOf, diagramOf } from "../../machines/drawing.ts";
import { nodeMachine } from "../../machines/node/node.machine.ts";
import { protocolSchema } from "../../machines/protocol/json-schema.ts";
import { signalsPage } from "../../machines/protocol/signals-page.ts";
import { sessionMachine } from "../../machines/session/session.machine.ts";
import { turnMachine } from "../../machines/turn/turn.machine.ts";
import { packageRoot } from "../../skills/package-root.ts";

const machines: readonly AnyStateMachine[] = [sessionMachine, turnMachine, compactionMachine, nodeMachine];

/** Everything in `docs/` that is made from code: path below `docs/` and text. */
export function generatedDocs(): readonly { readonly path: string; readonly text: string }[] {
  return [
    ...machines.flatMap((machine) => [
      { path: `machines/${machine.id}.md`, text: diagramOf(machine) },
      { path: `machines/${machine.id}.json`, text: definitionOf(machine) },
    ]),
    { path: "signals.md", text: signalsPage() },
    { path: "protocol.json", text: `${JSON.stringify(protocolSchema(), null, 2)}\n` },
  ];
}

export const docsFolder = (): string => join(packageRoot(), "docs");

/** The generated pages that differ from what the code gives now. */
export function drifted(): readonly string[] {
  return generatedDocs()
    .filter(({ path, text }) => {
      try {
        return readFileSync(join(docsFolder(), path), "utf8") !== text;
      } catch {
        return true;
      }
    })
    .map(({ path }) => path);
}

if (process.argv[1]?.endsWith("draw-machines.ts")) {
  mkdirSync(join(docsFolder(), "machines"), { recursive: true });
  for (const { path, text } of generatedDocs()) writeFileSync(join(docsFolder(), path), text);
}
