import { type Address, Talker } from "../client.ts";
import type { Setup } from "../harness.ts";

export const QUESTION = "Which form of magnesium is gentle on the stomach, and how much of it is usual for an adult?";

/** `count` fresh sessions that have had `turns` turns each, attached and asleep. */
export async function grow(
  at: Address,
  { count, turns, ends }: { readonly count: number; readonly turns: number } & Pick<Setup, "ends">,
): Promise<readonly Talker[]> {
  return await Promise.all(
    Array.from({ length: count }, async () => {
      const talker = await Talker.open(at);
      ends.add("client", () => talker.close());
      for (let turn = 0; turn < turns; turn += 1) await talker.turn(QUESTION);
      await talker.asleep();
      return talker;
    }),
  );
}
