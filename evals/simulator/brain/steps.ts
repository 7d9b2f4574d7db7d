import type { z } from "zod";
import { Failure } from "../../../machines/failure.ts";
import type { Outcome } from "./outcome.ts";
import type { Call } from "./reply.ts";
import { pastCalls, type Scene } from "./scene.ts";

/**
 * A plan: yields the calls that it needs next, gets their outcomes, returns the answer. A plan runs from its start for each
 * request; calls whose outcome stands in the request are not made again, so it gets one step further each time.
 */
export type Steps<Result> = Generator<readonly Wanted[], Result, readonly Outcome[]>;

/** A call and what is said in front of it. */
export type Wanted = Call & { readonly say?: string };

/** One intent: whether it fits the open question, and how it is answered. */
export type Rule = {
  readonly id: string;
  fits(scene: Scene): boolean;
  steps(scene: Scene): Steps<string>;
};

/** Ends a plan early with a sentence for the user. */
export class PlanStopped extends Failure {
  readonly code = "PLAN_STOPPED";
  readonly retryable = false;
  readonly sentence: string;
  constructor(sentence: string) {
    super("the plan stopped early; `sentence` says why to the user");
    this.sentence = sentence;
  }
}

/** Makes calls side by side; the outcomes come in the order of the calls. */
export function* askAll(...calls: readonly Call[]): Steps<readonly Outcome[]> {
  return yield calls;
}

export function* ask(tool: string, args: Call["args"]): Steps<Outcome> {
  const [outcome] = yield [{ tool, args }];
  return outcome ?? { kind: "no_tool" };
}

export type Found<Data> = { readonly data: Data; readonly shortened: boolean };

/** The data of an outcome, or the end of the plan with a sentence that says in plain words why there are none. */
export function need<Schema extends z.ZodType>(outcome: Outcome, what: string, schema: Schema): Found<z.infer<Schema>> {
  switch (outcome.kind) {
    case "data": {
      const parsed = schema.safeParse(outcome.data);
      if (parsed.success) return { data: parsed.data, shortened: outcome.shortened };
      throw new PlanStopped(`The ${what} came back in a form that I can't read, so I can't answer from it.`);
    }
    case "text":
      throw new PlanStopped(`The result of the ${what} was too long or not readable, so I can't answer from it.`);
    case "error":
      throw new PlanStopped(
        `The ${what} failed: ${sentence(outcome.reason)} I did not get an answer, so I won't guess one.`,
      );
    case "no_tool":
      throw new PlanStopped(`I have no tool for the ${what} here, so I can't do that in this session.`);
  }
}

/** As `need`, for a look-up that the answer can do without. */
export function have<Schema extends z.ZodType>(outcome: Outcome, schema: Schema): z.infer<Schema> | null {
  const parsed = outcome.kind === "data" ? schema.safeParse(outcome.data) : null;
  return parsed?.success === true ? parsed.data : null;
}

/** Loads a skill that the system prompt offers, unless the request still shows its body. */
export function* loadSkill(scene: Scene, name: string): Steps<void> {
  if (!scene.skills.has(name) || !scene.tools.has("load_skill") || scene.given.has(name)) return;
  const loaded = scene.past.some(({ done }) =>
    done.some(({ tool, args, outcome }) => tool === "load_skill" && args["name"] === name && outcome.kind !== "error"),
  );
  if (!loaded) yield [{ tool: "load_skill", args: { name } }];
}

/**
 * The newest readable result of one of these tools in earlier exchanges. The open exchange is left out: a plan that runs
 * again from its start must see the same past.
 */
export function pastResult<Schema extends z.ZodType>(
  scene: Scene,
  tools: readonly string[],
  schema: Schema,
): { readonly args: Call["args"]; readonly data: z.infer<Schema> } | null {
  for (const { tool, args, outcome } of pastCalls(scene)) {
    const data = tools.includes(tool) ? have(outcome, schema) : null;
    if (data !== null) return { args, data };
  }
  return null;
}

function sentence(reason: string): string {
  const short = reason.replace(/\s+/g, " ").trim().slice(0, 300);
  return /[.!?]$/.test(short) ? short : `${short}.`;
}
