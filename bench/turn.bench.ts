import type { Bench } from "./harness.ts";
import { endToEnd } from "./turn/end-to-end.ts";
import { runtimeTurn } from "./turn/runtime.ts";

/** The runtime's own share first, then the whole of it with everything that a user's turn passes through. */
export const turnBench: Bench = {
  name: "turn",
  question: "what does one turn cost beside one durable insert, and beside the bare SDK calls it makes?",
  samples: 100,
  async run(setup) {
    const runtime = await runtimeTurn(setup);
    await setup.ends.closeAll();
    const whole = await endToEnd(setup);
    return { figures: [...runtime.figures, ...whole.figures], facts: [...runtime.facts, ...whole.facts] };
  },
};
