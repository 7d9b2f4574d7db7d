import { z } from "zod";
import type { CallId, SessionId } from "../../machines/ids.ts";
import { clipped } from "../bounds.ts";
import type { Tool } from "../tool.ts";
import { showingTool } from "./define.ts";

export const READ_RESULT = "read_result";

/** Whole results of this session's calls, where they were too long for the conversation. */
export type KeptResults = { read(session: SessionId, callId: string): Promise<string | undefined> };

const USUAL = 8_000;
const MOST = 16_000;

/** What a shortened result says about its rest. */
export const readHint = (callId: CallId): string =>
  `To read on, call ${READ_RESULT} with ${JSON.stringify({ call_id: callId })}, an offset and a limit in characters; or narrow the request.`;

/** Reads a part of a result that was shortened. */
export function readResult(results: KeptResults): Tool {
  return showingTool({
    name: READ_RESULT,
    title: "Reading a long result",
    description:
      "Read a part of a tool result that was too long to be shown in full. Only for results that say so, with the call_id that they name.",
    input: z.object({
      call_id: z.string().describe("As named in the shortened result."),
      offset: z.int().min(0).optional().describe("First character to read, 0 when left out."),
      limit: z
        .int()
        .min(1)
        .max(MOST)
        .optional()
        .describe(`Characters to read, ${USUAL} when left out, ${MOST} at most.`),
    }),
    async run({ call_id, offset = 0, limit = USUAL }, { sessionId }) {
      const text = await results.read(sessionId, call_id);
      if (text === undefined) {
        const echo = JSON.stringify(clipped(call_id, 64).toWellFormed());
        return { kind: "error", reason: "tool", text: `There is no shortened result ${echo} in this conversation.` };
      }
      if (offset >= text.length) {
        return {
          kind: "error",
          reason: "tool",
          text: `This result has ${text.length} characters; nothing is at ${offset}.`,
        };
      }
      const part = clipped(text.slice(offset), limit).toWellFormed();
      const end = offset + part.length;
      const rest = end < text.length ? ` Read on at offset ${end}.` : " This is its end.";
      return { kind: "ok", text: `[Characters ${offset} to ${end} of ${text.length}.${rest}]\n${part}` };
    },
  });
}
