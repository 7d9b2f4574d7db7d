import { useState } from "preact/hooks";
import type { Status } from "../connection.ts";
import type { View } from "../view.ts";
import { endingText } from "../words.ts";
import { Asked } from "./cards/asked.tsx";
import type { Live } from "./live.ts";
import { unshown } from "./unshown.ts";

/** Loads the turns before those shown. */
export function Older({ live }: { readonly live: Live }) {
  const [state, setState] = useState<"idle" | "loading" | "failed">("idle");
  const load = () => {
    setState("loading");
    live.older().then(
      () => setState("idle"),
      () => setState("failed"),
    );
  };
  return (
    <button type="button" class="older" data-testid="older" disabled={state === "loading"} onClick={load}>
      {state === "failed" ? "That did not work. Try again" : state === "loading" ? "Loading…" : "Earlier messages"}
    </button>
  );
}

/** Says to a screen reader that an answer begins and ends, and what is asked; the log itself is read when it is whole. */
export function Announcer({ view }: { readonly view: View }) {
  return (
    <p class="unseen" role="status">
      {announced(view)}
    </p>
  );
}

function announced({ turns, pending }: View): string {
  const last = turns.at(-1);
  if (last === undefined) return "";
  if (last.ending === undefined) return "Assist is answering";
  if (pending !== null) return `Assist asks: ${pending.prompt}`;
  return last.ending.kind === "awaiting" ? "Nothing is asked any more" : (endingText(last.ending) ?? "Answer complete");
}

/** A question that waits, but whose card is on none of the turns that are shown. */
export function Unshown({ view }: { readonly view: View }) {
  const asked = unshown(view);
  return asked === undefined ? null : <Asked data={asked} />;
}

/** The conversation can't go on here, and what helps. */
export function Ended({ status }: { readonly status: Status }) {
  if (status.kind !== "ended" || status.reason === "closed") return null;
  const login = status.reason === "login_required";
  return (
    <div class="ended" role="alert">
      <span>{login ? "Your login has ended." : "This conversation is not available to you."}</span>
      {login && (
        <button type="button" data-testid="log-in-again" onClick={() => location.reload()}>
          Log in again
        </button>
      )}
    </div>
  );
}
