import { expect, test } from "vitest";
import { Together } from "./together.ts";

function scene() {
  /** Each inner list left in one go. */
  const calls: string[][] = [];
  const soon: (() => void)[] = [];
  const state = { open: true, corked: undefined as string[] | undefined };
  const together = new Together(
    {
      send: (frame) => (state.corked ? state.corked.push(frame) : calls.push([frame])),
      cork(work) {
        const frames: string[] = [];
        state.corked = frames;
        work();
        state.corked = undefined;
        calls.push(frames);
      },
      isOpen: () => state.open,
    },
    (work) => soon.push(work),
  );
  const turnLoop = () => {
    for (const work of soon.splice(0)) work();
  };
  return { together, calls, soon, state, turnLoop };
}

test("[TO1] frames that are made in one go leave in one call, in order; one alone needs no cork", () => {
  const { together, calls, soon, turnLoop } = scene();
  for (const frame of ["a", "b", "c"]) together.send(frame);
  expect([calls, soon.length]).toEqual([[], 1]);
  turnLoop();
  together.send("d");
  turnLoop();
  expect(calls).toEqual([["a", "b", "c"], ["d"]]);
});

test("[TO2] what is large leaves at once, behind what waits, so never much waits here", () => {
  const { together, calls, turnLoop } = scene();
  const large = "x".repeat(5_000);
  together.send("a");
  together.send(large);
  expect(calls).toEqual([["a"], [large]]);
  together.send("b");
  turnLoop();
  expect(calls.at(-1)).toEqual(["b"]);
});

test("[TO3] a flush sends what waits now; a connection that is closed is sent nothing", () => {
  const { together, calls, state, turnLoop } = scene();
  together.send("last words");
  together.flush();
  turnLoop();
  together.send("too late");
  state.open = false;
  turnLoop();
  expect(calls).toEqual([["last words"]]);
});
