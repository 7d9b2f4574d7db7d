import { z } from "zod";
import { Failure } from "./failure.ts";

const name = z
  .string()
  .regex(/^[a-z0-9]+([_-][a-z0-9]+)*$/, "use lower-case letters, digits, - and _")
  .max(64);
const count = z.int().min(1);

const schema = z.strictObject({
  name: z.string().min(1).max(64),
  /** Base text of the system prompt; the skill index is added to it. */
  prompt: z.string().min(1),
  limits: z.strictObject({
    /** Model calls of one turn. */
    steps: count,
    /** Tokens of one answer. */
    outputTokens: count,
    /** Milliseconds of one turn. */
    turnMs: count,
    /** Tokens of one turn, input and output of all its model calls together. */
    turnTokens: count,
  }),
  thinking: z.boolean(),
  /** Tools of ours that this agent has. */
  builtins: z.array(name),
  /** Rules for tools by name, builtin or discovered. A tool that is not named here is enabled. */
  tools: z.record(z.string(), z.strictObject({ flag: name.optional(), timeoutMs: count.optional() })),
  /** Discovered tools whose decoration (title, card) applies. */
  decorations: z.array(name),
  /** Names of the skill folders. */
  skills: z.array(name),
  /** The address comes from the runtime's configuration where it is left out. One server may have bare names. */
  mcpServers: z.array(z.strictObject({ name, url: z.url().optional(), bareNames: z.boolean().optional() })),
  /** How this agent reads and writes plans, for context and for actions on cards. */
  planTools: z.strictObject({ read: name, create: name, update: name }),
  /** How it reads a patient, to name the one on the user's screen. */
  patientTools: z.strictObject({ read: name }),
});

/** An agent as data: everything that makes Assist Assist, and nothing that runs. */
export type AgentDefinition = Readonly<z.infer<typeof schema>>;

/** The agent file does not fit its schema. The message lists every problem by its path. */
export class AgentInvalid extends Failure {
  readonly code = "agent_invalid";
  readonly retryable = false;
}

/** Checks an agent once, at start. Throws `AgentInvalid`. */
export function defineAgent(definition: AgentDefinition): AgentDefinition {
  const read = schema.safeParse(definition);
  if (!read.success) throw new AgentInvalid(`the agent file is not valid:\n${z.prettifyError(read.error)}`);
  return Object.freeze(read.data);
}

/** The system prompt: the agent's own text, then one line for each enabled skill ("name: description"). */
export function systemPrompt(agent: AgentDefinition, skillIndex: readonly string[]): string {
  const text = agent.prompt.trim();
  if (skillIndex.length === 0) return text;
  return [text, "", "<skills>", ...skillIndex.map((line) => `- ${line}`), "</skills>"].join("\n");
}
