import type { AgentDefinition } from "../../machines/agent.ts";
import type { Entry } from "../../machines/conversation/entries.ts";
import type { Chance, Clock } from "../../machines/effects.ts";
import type { NodeId } from "../../machines/ids.ts";
import type { Model } from "../../machines/model.ts";
import type { TurnLimits } from "../../machines/turn/turn.rules.ts";
import type { Store } from "../../persistence/store.ts";
import type { Toolbox } from "../../tools/tool.ts";
import type { Observe } from "../observe/events.ts";
import type { Drafts } from "../summaries/drafts.ts";
import type { Caller } from "./conversations.ts";

/** What one principal's agent can do now: resolved when a turn opens, so that a flag counts from the next turn on. */
export type Capabilities = {
  readonly system: string;
  readonly toolbox: Toolbox;
  /** The same with the tools as their servers list them now; left out: they never change. Itself where they can't be had in time. */
  relisted?(signal: AbortSignal): Promise<Capabilities>;
  /** Tokens of the fixed parts: system prompt, skill index, tool schemas. */
  readonly fixed: { readonly system: number; readonly skills: number; readonly tools: number };
  /** Skills whose present text lies in this history. */
  loadedSkills(entries: readonly Entry[]): Set<string>;
  /** Bodies of the skills that an entry point loads before the first model call. */
  eager(entryPoint: string): readonly { readonly name: string; readonly body: string }[];
  /** Names behind what is on the user's screen; ids alone when the platform doesn't answer in time. */
  describe(
    screen: Screen,
    signal: AbortSignal,
  ): Promise<{ patient?: { id: string; name?: string }; plan?: { id: string; outline?: string } }>;
};

/** What a turn has before its login was found: nothing. */
export const NO_CAPABILITIES: Capabilities = {
  system: "",
  toolbox: { tools: [], find: () => undefined },
  fixed: { system: 0, skills: 0, tools: 0 },
  loadedSkills: () => new Set(),
  eager: () => [],
  describe: async () => ({}),
};

export type Screen = { readonly patientId?: string | undefined; readonly planId?: string | undefined };

export type SessionSettings = {
  readonly agent: string;
  readonly limits: TurnLimits;
  readonly maxOutputTokens: number;
  /** The tools by which this agent reads and writes plans: the system calls them for the user. */
  readonly planTools: AgentDefinition["planTools"];
  /** Waiting turns a session may hold besides the one that runs. */
  readonly queueBound: number;
  readonly hibernateAfterMs: number;
  readonly leaseMs: number;
  readonly grants: boolean;
  /** How long a grant lives when the login does not say when it ends. */
  readonly grantMs: number;
  /** How long a turn waits for a summary. */
  readonly compactionMs?: number;
};

/** Everything the sessions of a node need from outside. Made in the composition root, once. */
export type World = {
  readonly node: NodeId;
  readonly store: Store;
  readonly model: Model;
  /** Who sums up what is older; left out: a context that is too full is cut by rule. */
  readonly drafts?: Drafts;
  readonly capabilities: (caller: Caller) => Promise<Capabilities>;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly observe: Observe;
  readonly settings: SessionSettings;
};
