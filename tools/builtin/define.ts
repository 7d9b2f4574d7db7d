import { z } from "zod";
import type { Tool, ToolContext, ToolResult } from "../tool.ts";

type Definition<S extends z.ZodObject> = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: S;
  readonly run: (args: z.output<S>, context: ToolContext, signal: AbortSignal) => Promise<ToolResult>;
};

/** A tool of ours that shows something or reads: it writes nothing, so it can run again. */
export function showingTool<S extends z.ZodObject>({ input, run, ...rest }: Definition<S>): Tool {
  const { $schema: _, ...inputSchema } = z.toJSONSchema(input, { io: "input" });
  return {
    ...rest,
    inputSchema,
    traits: { readOnly: true, repeatable: true },
    async run(args, context, signal) {
      const read = input.safeParse(args);
      return read.success
        ? run(read.data, context, signal)
        : { kind: "error", reason: "invalid_arguments", text: z.prettifyError(read.error) };
    },
  };
}
