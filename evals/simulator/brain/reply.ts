/** One tool call that the model wants. */
export type Call = { readonly tool: string; readonly args: Readonly<Record<string, unknown>> };

/** What the model answers to one request: text, calls, or text and calls. */
export type Reply = { readonly thought: string; readonly text: string; readonly calls: readonly Call[] };
