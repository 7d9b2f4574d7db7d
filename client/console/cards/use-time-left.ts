import { useEffect, useState } from "preact/hooks";
import { useDesk } from "../desk.ts";
import { textChangesIn } from "./time-left.ts";

/** Milliseconds until `end` by the server's clock, as of the last change that a person would see; undefined without an end. */
export function useTimeLeft(end: string | undefined): number | undefined {
  const { now } = useDesk();
  const [, tick] = useState(0);
  const left = end === undefined ? undefined : Date.parse(end) - now();
  const next = left === undefined ? undefined : textChangesIn(left);
  useEffect(() => {
    if (next === undefined) return;
    const timer = setTimeout(() => tick((n) => n + 1), next);
    return () => clearTimeout(timer);
  });
  return left;
}
