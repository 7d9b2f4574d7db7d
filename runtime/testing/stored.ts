import type { Turn } from "../../machines/protocol/turns.ts";
import type { Server } from "./process.ts";

/** The turns of a session as its page shows them; reading it wakes nothing. */
export async function turnsOf(server: Server, cookie: string, session: string): Promise<readonly Turn[]> {
  const answer = await server.get(`/v1/sessions/${session}`, { cookie });
  if (answer.status !== 200) throw new Error(`the page answered ${answer.status}`);
  return ((await answer.json()) as { turns: readonly Turn[] }).turns;
}

/** All text that a stored turn shows. */
export const textOf = ({ blocks }: Turn): string =>
  blocks.flatMap(({ type, content }) => (type === "text" ? [String(content["text"])] : [])).join("\n");
