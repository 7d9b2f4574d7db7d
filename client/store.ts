import { createStore } from "@xstate/store";
import type { Signal, UnknownSignal } from "../machines/protocol/signals.ts";
import type { Turn } from "../machines/protocol/turns.ts";
import type { Status } from "./connection.ts";
import { applySignal, withOlderTurns } from "./reducer.ts";
import { emptyView, type View } from "./view.ts";

export type SessionContext = { readonly view: View; readonly status: Status };

const fresh: SessionContext = { view: emptyView, status: { kind: "connecting", attempt: 0 } };

/**
 * The view of one session as a store. Wire it up with
 * `connect({ onSignal: (signal) => store.trigger.signal({ signal }), onStatus: (status) => store.trigger.status({ status }) })`.
 */
export function sessionStore() {
  return createStore({
    context: fresh,
    on: {
      signal: (context, event: { signal: Signal | UnknownSignal }) => ({
        ...context,
        view: applySignal(context.view, event.signal),
      }),
      status: (context, event: { status: Status }) => ({ ...context, status: event.status }),
      older: (context, event: { turns: readonly Turn[] }) => ({
        ...context,
        view: withOlderTurns(context.view, event.turns),
      }),
    },
  });
}

export type SessionStore = ReturnType<typeof sessionStore>;
