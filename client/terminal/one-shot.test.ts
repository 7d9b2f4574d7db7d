import { expect, test } from "vitest";
import type { Signal } from "../../machines/protocol/signals.ts";
import { message } from "../commands.ts";
import { connect } from "../connection.ts";
import { applySignal } from "../reducer.ts";
import { fakeClock, fakeSockets } from "../testing/fake-socket.ts";
import { greeting, numbered, plain, SESSION, TURN, uuid } from "../testing/signals.ts";
import { emptyView } from "../view.ts";
import type { ChatSession, Listener } from "./chat-session.ts";
import { carryOut } from "./one-shot.ts";
import { printer } from "./printer.ts";
import { style } from "./style.ts";

function scene() {
  const sockets = fakeSockets();
  const listeners = new Set<Listener>();
  let view = emptyView;
  const connection = connect({
    url: "http://127.0.0.1:8787",
    session: SESSION,
    socket: sockets.factory,
    probe: async () => 503,
    clock: fakeClock(),
    onSignal(signal) {
      view = applySignal(view, signal);
      for (const { view: show } of listeners) show?.(view);
    },
  });
  const session: ChatSession = {
    id: SESSION,
    connection,
    earlier: [],
    pending: null,
    view: () => view,
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  const says = (...signals: Signal[]) => sockets.last().says(...signals);
  sockets.last().opens();
  says(greeting());
  return { session, says, talk: printer({ out: () => {}, err: () => {}, style: style(false) }) };
}

test("a turn that ends with a question is over once the question is there to be shown", async () => {
  const { session, says, talk } = scene();
  const said = message("hi", {}, uuid(21));
  let over = false;
  const ending = carryOut(session, talk, said).finally(() => {
    over = true;
  });
  const usage = { input: 1, output: 1, thinking: 0, cached: 0 };
  says(
    plain("message_accepted", { id: said.id, turn_id: TURN, queued: false }),
    numbered("turn_started", 1, { turn_id: TURN, n: 1, cause: "message", input: { text: "hi" } }),
    numbered("state_changed", 2, { status: "turning", pending_interaction: null }),
    numbered("turn_completed", 3, { turn_id: TURN, outcome: "awaiting", usage, ms: 1, steps: 1 }),
  );
  await new Promise((settled) => setImmediate(settled));
  expect(over).toBe(false);
  const pending = { id: uuid(7), revision: 1, kind: "single_choice" as const, prompt: "Which?", schema: {} };
  says(numbered("state_changed", 4, { status: "awaiting", pending_interaction: pending }));
  expect([(await ending).kind, session.view().pending]).toEqual(["awaiting", pending]);
  session.connection.close();
});
