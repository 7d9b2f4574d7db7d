import { z } from "zod";

/** Which requests a fault hits: the next `times` ones (all when absent), of one model only when `model` is given. */
const aim = { times: z.number().int().min(1).optional(), model: z.string().optional() };

const fault = z.discriminatedUnion("kind", [
  /** An HTTP error before the first event. */
  z.strictObject({ kind: z.literal("status"), status: z.number().int().min(400).max(599), ...aim }),
  /** The stream ends after `afterEvents`: the socket is reset, an error event comes, or it just stops. */
  z.strictObject({
    kind: z.literal("cut"),
    afterEvents: z.number().int().min(0),
    how: z.enum(["reset", "error_event", "end"]),
    /** Converse: the name of the exception that the error event carries. */
    exception: z.string().optional(),
    ...aim,
  }),
  /** All events come, none has a finish reason. */
  z.strictObject({ kind: z.literal("no_finish"), ...aim }),
  /** Silence after `afterEvents` events; 0 is silence before the response head. Ends when the client or the simulator ends. */
  z.strictObject({ kind: z.literal("hang"), afterEvents: z.number().int().min(0), ...aim }),
  z.strictObject({ kind: z.literal("blocked"), reason: z.string(), ...aim }),
  z.strictObject({ kind: z.literal("empty"), shape: z.enum(["empty_list", "no_candidates", "no_content"]), ...aim }),
  /** Another finish reason than STOP; `keepParts` false also takes the parts away. */
  z.strictObject({ kind: z.literal("finish"), reason: z.string(), keepParts: z.boolean(), ...aim }),
]);

const knobs = z.strictObject({
  /** Wait before the response head, ms. */
  firstByteMs: z.number().min(0),
  /** Wait per output token, ms. */
  tokenMs: z.number().min(0),
  /** Words in one text event. */
  wordsPerEvent: z.number().int().min(1),
  /** Write the body in pieces of this many bytes, null: one write per event. */
  cutBytes: z.number().int().min(1).nullable(),
  lineEnd: z.enum(["\n", "\r\n"]),
  /** A comment line of its own before every event. */
  keepAlive: z.boolean(),
  /** Whether the last event is followed by its blank line. */
  lastBlankLine: z.boolean(),
  /** Whether calls carry ids. */
  callIds: z.boolean(),
  /** Converse: every how manieth answer that thinks has sealed reasoning instead of text; 0: none. */
  redactedEvery: z.number().int().min(0),
  /** Models that answer 404. */
  missingModels: z.array(z.string()),
  /** The first one that fits a request hits it. */
  faults: z.array(fault),
});

export type Fault = z.infer<typeof fault>;
export type Knobs = z.infer<typeof knobs>;

export const DEFAULT_KNOBS: Knobs = {
  firstByteMs: 0,
  tokenMs: 0,
  wordsPerEvent: 4,
  cutBytes: null,
  lineEnd: "\n",
  keepAlive: false,
  lastBlankLine: true,
  callIds: true,
  redactedEvery: 0,
  missingModels: [],
  faults: [],
};

/** Reads knobs that came over HTTP, undefined when they are none. */
export function readKnobs(json: string): Partial<Knobs> | undefined {
  try {
    const given = knobs.partial().parse(JSON.parse(json));
    return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  } catch {
    return undefined; // the caller answers 400
  }
}

/** Takes the fault for a request of `model` and counts it down; spent faults leave the list. */
export function takeFault(knobs: Knobs, model: string): Fault | undefined {
  const found = knobs.faults.find((each) => each.model === undefined || each.model === model);
  if (found?.times === undefined) return found;
  const rest = found.times === 1 ? [] : [{ ...found, times: found.times - 1 }];
  knobs.faults = knobs.faults.flatMap((each) => (each === found ? rest : [each]));
  return found;
}
