import { z } from "zod";
import { contextSchema, type MessageCommand } from "../../machines/protocol/commands.ts";
import { isTooDeep, MOST_LEVELS } from "../../machines/protocol/depth.ts";
import type { ForeignMessage } from "./events.ts";

const name = z.string().min(1).max(500);
const part = z.looseObject({ type: z.string() });
const message = z.looseObject({ id: name, role: z.string(), content: z.unknown().optional() });
const userContent = z.union([z.string(), z.array(part)]);

const resumeEntry = z.object({
  interruptId: name,
  status: z.enum(["resolved", "cancelled"]),
  payload: z.unknown().optional(),
});

/** What an application may say beside the conversation, as `forwardedProps` or as entries of `context`. */
const extrasSchema = contextSchema.extend({
  attachments: z.array(z.string()).optional(),
  entry_point: z.string().optional(),
});

/** The run input of AG-UI 1.0, as far as this server reads it. What it does not know it leaves alone. */
const runInput = z.object({
  threadId: name,
  runId: name,
  messages: z.array(message),
  // Clients of earlier versions say null for a field that is not there.
  tools: z.array(z.unknown()).nullish(),
  context: z.array(z.object({ description: z.string(), value: z.string() })).nullish(),
  forwardedProps: z.unknown().optional(),
  resume: z.array(resumeEntry).nullish(),
});

export type ResumeEntry = z.infer<typeof resumeEntry>;

/** What a run asks for, before it is known which session and which open interaction it meets. */
export type RunRequest = {
  readonly threadId: string;
  readonly runId: string;
  /** The conversation as the client holds it. */
  readonly messages: readonly ForeignMessage[];
  readonly say: Pick<MessageCommand, "text" | "context" | "attachments" | "entry_point">;
  /** True when the conversation ends with the user's words: a cancelled interrupt is superseded by them. */
  readonly endsWithUser: boolean;
  readonly resume: readonly ResumeEntry[];
  /** Fields that held something this server does not use. */
  readonly ignored: readonly string[];
};

export type ReadInput =
  | { readonly kind: "run"; readonly run: RunRequest }
  | { readonly kind: "refused"; readonly code: "invalid_json" | "invalid_request"; readonly message: string };

const refused = (code: "invalid_json" | "invalid_request", why: string): ReadInput => ({
  kind: "refused",
  code,
  message: why,
});

/** The only place where the body of a run becomes typed. */
export function readInput(body: string): ReadInput {
  let raw: unknown;
  try {
    raw = JSON.parse(body);
  } catch {
    return refused("invalid_json", "the body is one JSON object");
  }
  if (isTooDeep(raw)) return refused("invalid_request", `the input has at most ${MOST_LEVELS} levels`);
  const parsed = runInput.safeParse(raw);
  if (!parsed.success) return refused("invalid_request", complaint(parsed.error));
  const { threadId, runId, messages, tools, context, forwardedProps, resume } = parsed.data;
  const props = extrasSchema.safeParse(forwardedProps ?? {});
  if (!props.success) return refused("invalid_request", `forwardedProps.${complaint(props.error)}`);
  const { known, unknown } = readContext(context ?? []);
  const spoken = lastWords(messages);
  if (spoken === "malformed") return refused("invalid_request", "the content of a message is text or a list of parts");
  const { attachments, entry_point, ...fromProps } = props.data;
  const about = { ...known, ...fromProps };
  return {
    kind: "run",
    run: {
      threadId,
      runId,
      messages: messages as readonly ForeignMessage[],
      say: {
        text: spoken.text,
        ...(Object.keys(about).length > 0 && { context: about }),
        ...(attachments && { attachments }),
        ...(entry_point !== undefined && { entry_point }),
      },
      endsWithUser: messages.findLast(({ role }) => role !== "activity" && role !== "reasoning")?.role === "user",
      resume: resume ?? [],
      ignored: [
        ...(tools?.length ? ["tools"] : []),
        ...unknown.map((entry) => `context: ${entry}`),
        ...spoken.skipped.map((type) => `content part: ${type}`),
      ],
    },
  };
}

type Words = { readonly text: string; readonly skipped: readonly string[] };

/** The server holds the history, so only the user's last message is new. */
function lastWords(messages: readonly z.infer<typeof message>[]): Words | "malformed" {
  const last = messages.findLast(({ role }) => role === "user");
  if (last === undefined) return { text: "", skipped: [] };
  const content = userContent.safeParse(last.content);
  if (!content.success) return "malformed";
  if (typeof content.data === "string") return { text: content.data, skipped: [] };
  const texts: string[] = [];
  const skipped: string[] = [];
  for (const one of content.data) {
    if (one.type === "text" && typeof one["text"] === "string") texts.push(one["text"]);
    else skipped.push(one.type.slice(0, 50));
  }
  return { text: texts.join("\n"), skipped };
}

function readContext(entries: readonly { readonly description: string; readonly value: string }[]) {
  const known: Record<string, unknown> = {};
  const unknown: string[] = [];
  for (const { description, value } of entries) {
    if (description === "patient_id" || description === "plan_id") known[description] = value;
    else if (description === "page") known["page"] = { url: value };
    else unknown.push(description.slice(0, 100));
  }
  return { known: contextSchema.catch({}).parse(known), unknown };
}

/** Names the field; zod's messages quote what was expected, never what came. */
function complaint(error: z.ZodError): string {
  const [issue] = error.issues;
  const field = issue?.path.map(String).join(".") ?? "";
  return `${field === "" ? "the input" : field}: ${issue?.message ?? "not valid"}`.slice(0, 300);
}
