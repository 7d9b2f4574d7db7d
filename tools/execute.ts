import type { ToolCall } from "../machines/conversation/entries.ts";
import { never } from "../machines/failure.ts";
import { clipped } from "./bounds.ts";
import type { SubagentNews, Tool, ToolAnswer, Toolbox, ToolContext, ToolProgress, ToolResult } from "./tool.ts";
import { validateArguments } from "./validate.ts";

/** What all calls of one step have in common. */
export type StepContext = Pick<ToolContext, "sessionId" | "turnId" | "principal" | "credential" | "loadedSkills"> & {
  /** Instead of `<session>.<turn>.<call>`: for what the system itself calls. */
  readonly idempotencyKey?: string;
  /** A tool of ours threw: a bug, which the model is told of in one sentence. */
  readonly onFault?: (tool: string, error: unknown) => void;
};

/**
 * Runs one call of the model. Whatever is wrong with it (arguments cut off or invalid, no such tool, a tool that breaks) is an error
 * result that the model can act on; only an abort throws, with the signal's reason.
 */
export async function runTool(
  toolbox: Toolbox,
  call: ToolCall,
  step: StepContext,
  signal: AbortSignal,
  onProgress?: (progress: ToolProgress) => void,
  onSubagent?: (news: SubagentNews) => void,
): Promise<ToolResult> {
  signal.throwIfAborted();
  if (call.broken !== undefined) return brokenCall(call, call.broken);
  const idempotencyKey = step.idempotencyKey ?? `${step.sessionId}.${step.turnId}.${call.callId}`;
  const run = async (name: string, args: unknown, key: string): Promise<ToolResult> => {
    const tool = toolbox.find(name);
    if (tool === undefined) return unknownTool(toolbox, name);
    const { onFault: _, idempotencyKey: __, ...shared } = step;
    const context: ToolContext = {
      ...shared,
      callId: call.callId,
      idempotencyKey: key,
      ...(onProgress && { onProgress }),
      ...(onSubagent && { onSubagent }),
      call: async (inner, innerArgs) => answerOf(inner, await run(inner, innerArgs, `${key}.${inner}`)),
    };
    return runValid(tool, args, context, signal, step.onFault);
  };
  return run(call.name, call.args, idempotencyKey);
}

/** A tool that another one calls can't end the turn. */
function answerOf(name: string, result: ToolResult): ToolAnswer {
  if (result.kind !== "pause") return result;
  return { kind: "error", reason: "tool", text: `${name} asks the user and can't be called by another tool.` };
}

async function runValid(
  tool: Tool,
  args: unknown,
  context: ToolContext,
  signal: AbortSignal,
  onFault: StepContext["onFault"],
): Promise<ToolResult> {
  const valid = validateArguments(tool.name, tool.inputSchema, args === undefined ? {} : args);
  if (!valid.ok) return { kind: "error", reason: "invalid_arguments", text: valid.text };
  try {
    const result = await tool.run(valid.args, context, signal);
    signal.throwIfAborted();
    return result;
  } catch (error) {
    signal.throwIfAborted();
    onFault?.(tool.name, error);
    const mayHaveHappened = tool.traits.readOnly ? {} : { mayHaveHappened: true };
    return {
      kind: "error",
      reason: "tool",
      text: `${tool.name} failed because of a fault of ours.`,
      ...mayHaveHappened,
    };
  }
}

function brokenCall(call: ToolCall, broken: NonNullable<ToolCall["broken"]>): ToolResult {
  const name = quoted(call.name);
  const error = (text: string): ToolResult => ({ kind: "error", reason: "invalid_arguments", text });
  switch (broken) {
    case "truncated":
      return error(
        `The call of ${name} was cut off before its arguments were complete, so it was not run. Call it again, with shorter arguments.`,
      );
    case "invalid_json":
      return error(`${name} was not run: its arguments are not valid JSON${positionIn(call.args)}. Call it again.`);
    default:
      return never(broken);
  }
}

function positionIn(args: unknown): string {
  if (typeof args !== "string") return "";
  try {
    JSON.parse(args);
    return "";
  } catch (error) {
    const at = /position (\d+)/.exec(String(error))?.[1] ?? String(args.length);
    return ` (at character ${at})`;
  }
}

function unknownTool(toolbox: Toolbox, name: string): ToolResult {
  const close = closeNames(
    toolbox.tools.map((tool) => tool.name),
    name,
  );
  const hint = close.length > 0 ? `Close names: ${close.join(", ")}.` : "Call only tools that you were given.";
  const text =
    name.trim() === ""
      ? "The call names no tool. Nothing was run."
      : `There is no tool ${quoted(name)}. Nothing was run.`;
  return { kind: "error", reason: "unknown_tool", text: `${text} ${hint}` };
}

/** Names of this toolbox that are at most a third away from what was said, nearest first, three at most. Only told, never run. */
export function closeNames(names: readonly string[], said: string): readonly string[] {
  const plain = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, "");
  const wanted = plain(clipped(said, 64));
  if (wanted === "") return [];
  return names
    .map((name) => ({ name, distance: distance(plain(name), wanted) }))
    .filter(({ name, distance }) => distance <= Math.max(1, Math.floor(plain(name).length / 3)))
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, 3)
    .map(({ name }) => name);
}

/** Levenshtein's distance. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...b].entries()) {
      const change = (row[j] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(change, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

const quoted = (name: string) => JSON.stringify(clipped(name, 64).toWellFormed());
