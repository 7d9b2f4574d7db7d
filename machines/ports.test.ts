import { expect, test } from "vitest";
import { createActor, setup, toPromise } from "xstate";
import { declare, type Port, PortsBySystem } from "./ports.ts";

type Asking = { ask: Port<{ readonly question: string }, string> };

const inner = setup({ types: { output: {} as string }, actors: declare<Asking>("ask") }).createMachine({
  initial: "asking",
  context: { answer: "" },
  output: ({ event }) => (event as unknown as { output: string }).output,
  states: {
    asking: { invoke: { src: "ask", input: { question: "who?" }, onDone: "done" } },
    done: { type: "final", output: ({ event }) => event["output"] as string },
  },
});

function chart() {
  const ports = new PortsBySystem<Asking>();
  const child = inner.provide({ actors: ports.bind("ask") });
  const outer = setup({ actors: { child } }).createMachine({
    initial: "running",
    output: ({ event }) => (event as unknown as { output: string }).output,
    states: {
      running: { invoke: { src: "child", onDone: "done" } },
      done: { type: "final", output: ({ event }) => event["output"] },
    },
  });
  return { ports, outer };
}

test("actors of one chart each have their own ports, in the charts that it invokes too", async () => {
  const { ports, outer } = chart();
  const actors = ["ann", "ben"].map((name) => {
    const actor = createActor(outer);
    ports.give(actor, { ask: async ({ question }) => `${question} ${name}` });
    return actor;
  });
  const answers = Promise.all(actors.map((actor) => toPromise(actor)));
  for (const actor of actors) actor.start();
  expect(await answers).toEqual(["who? ann", "who? ben"]);
});

test("an actor that was given no ports fails at its first one", async () => {
  const actor = createActor(chart().outer);
  const end = toPromise(actor);
  actor.start();
  await expect(end).rejects.toEqual(new TypeError("a chart was started before it was given its ports"));
});
