import type {
  NumberedKind,
  NumberedSignal,
  PlainKind,
  PlainSignal,
  SignalData,
} from "../../machines/protocol/signals.ts";
import { usualLimits } from "../ledger.ts";

/** Uuids for tests: `uuid(7)` is always the same one. */
export const uuid = (n: number): string => `00000000-0000-4000-8000-${n.toString(16).padStart(12, "0")}`;

export const SESSION = uuid(1);
export const TURN = uuid(2);
const at = "2026-08-01T09:00:00.000Z";

export function numbered<K extends NumberedKind>(
  kind: K,
  seq: number,
  data: SignalData<K>,
  extra: { readonly turn_id?: string; readonly from_seq?: number } = {},
): NumberedSignal {
  return { v: 1, kind, session_id: SESSION, seq, at, data, ...extra } as NumberedSignal;
}

export function plain<K extends PlainKind>(kind: K, data: SignalData<K>): PlainSignal {
  return { v: 1, kind, session_id: SESSION, at, data } as PlainSignal;
}

export const greeting = (next_seq = 1, limits = usualLimits): PlainSignal =>
  plain("session_opened", {
    session_id: SESSION,
    thawed: false,
    status: "resting",
    next_seq,
    agent: "assist",
    simulated: true,
    limits,
  });
