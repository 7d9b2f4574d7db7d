import { expect, test } from "vitest";
import { Together } from "./together.ts";

function scene() {
  /** Each inner list left in one go. */
  const calls: string[][] = [];
  const soon: (() => void)[] = [];
  const state = { open: true, corked: undefined as string[] | undefined, refuses: undefined as string | undefined };
  const failures: unknown[] = [];
  const together = new Together(
    {
      send(frame) {
        if (frame === state.refuses) throw new TypeError(`can't send ${frame}`);
        if (state.corked) state.corked.push(frame);
        else calls.push([frame]);
      },
      // As the native one: what was sent before a fault leaves all the same.
      cork(work) {
        const frames: string[] = [];
        state.corked = frames;
        try {
          work();
        } finally {
          state.corked = undefined;
          calls.push(frames);
        }
      },
      isOpen: () => state.open,
      failed: (error) => failures.push(error),
    },
    (work) => soon.push(work),
  );
  const turnLoop = () => {
    for (const work of soon.splice(0)) work();
  };
  return { together, calls, soon, state, failures, turnLoop };
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

test("[TO4] many small frames leave in as few calls as the native layer's room allows, in order", () => {
  const { together, calls, turnLoop } = scene();
  const frames = Array.from({ length: 40 }, (_, at) => String(at).padEnd(250, "."));
  for (const frame of frames) together.send(frame);
  turnLoop();
  expect(calls.map((call) => call.length)).toEqual([16, 16, 8]);
  expect(calls.flat()).toEqual(frames);
});

test.each(["b", "x".repeat(5_000)])(
  "[TO5] a frame that can't be sent ends its own connection, and nobody else hears of it",
  (frame) => {
    const { together, calls, state, failures, turnLoop } = scene();
    state.refuses = frame;
    for (const each of ["a", frame, "c"]) together.send(each);
    turnLoop();
    together.send("d");
    together.flush();
    turnLoop();
    expect([calls, failures]).toEqual([[["a"]], [new TypeError(`can't send ${frame}`)]]);
  },
);
