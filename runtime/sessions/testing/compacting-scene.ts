import type { SessionId } from "../../../machines/ids.ts";
import type { Model } from "../../../machines/model.ts";
import type { Store } from "../../../persistence/store.ts";
import type { RuntimeEvent } from "../../observe/events.ts";
import { localDrafts } from "../../summaries/drafts.ts";
import { recordSummaries } from "../../summaries/record.ts";
import type { Summariser, SummaryAnswer, SummaryRequest } from "../../summaries/summariser.ts";
import type { World } from "../world.ts";
import { Client, node, rivera, type SceneOptions } from "./scene.ts";

const USAGE = { input: 700, output: 50, thinking: 0, cached: 0 };

/** A summariser that answers as the test says; `asked` holds its requests. */
export function scriptedSummariser(answer: (request: SummaryRequest, signal: AbortSignal) => Promise<string>) {
  const asked: SummaryRequest[] = [];
  const summariser: Summariser = {
    profile: "cheap",
    issuer: "gemini-api",
    projector: 1,
    window: 32_000,
    async answer(request, signal): Promise<SummaryAnswer> {
      asked.push(request);
      return { text: await answer(request, signal), truncated: false, usage: USAGE };
    },
  };
  return { summariser, asked };
}

export type CompactingOptions = Partial<SceneOptions> & {
  readonly model: Model;
  readonly summary?: (request: SummaryRequest, signal: AbortSignal) => Promise<string>;
  /** The next summary is made ahead of time, as a node does. */
  readonly ahead?: boolean;
  /** Tokens that the fixed parts are said to take. */
  readonly fixed?: number;
};

/** A node with a summariser, and a client at a session of it. */
export async function compacting(store: Store, options: CompactingOptions, id?: SessionId) {
  const { summary = async () => "So far: pat-001.", fixed = 15, ahead = false, world, ...rest } = options;
  const { summariser, asked } = scriptedSummariser(summary);
  const one = node(store, {
    ...rest,
    world: (made: World) => ({
      drafts: {
        ...localDrafts({
          summariser,
          store: store.summaries,
          clock: made.clock,
          limitMs: 60_000,
          ...recordSummaries(summariser, store.calls, made.observe),
        }),
        ...(!ahead && { prepare: () => {} }),
      },
      capabilities: async (caller) => ({
        ...(await made.capabilities(caller)),
        fixed: { system: fixed, skills: 0, tools: 0 },
      }),
      ...world?.(made),
    }),
  });
  const session = id ?? (await one.conversations.create(rivera));
  const client = await Client.open(one.conversations, session);
  const of = <T extends RuntimeEvent["type"]>(type: T) =>
    one.events.filter((event): event is Extract<RuntimeEvent, { type: T }> => event.type === type);
  return {
    ...one,
    id: session,
    client,
    asked,
    of,
    /** Says it and waits for the turn's end; gives the outcome. */
    async ask(text: string): Promise<string> {
      client.clear();
      await client.say(text);
      await Promise.race([client.until("turn_completed"), client.until("turn_failed")]);
      await client.asleep();
      return client.of("turn_failed")[0]?.code ?? client.of("turn_completed")[0]?.outcome ?? "nothing";
    },
    end: () => one.world.drafts?.close(),
  };
}
