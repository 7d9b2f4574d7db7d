import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { MessageCommand } from "../../machines/protocol/commands.ts";
import { cancel, message } from "../commands.ts";
import type { SessionContext } from "../store.ts";
import { olderThan, runningTurn, type TurnView, type View } from "../view.ts";
import { endingText, inputText } from "../words.ts";
import { Composer, type Picked } from "./composer.tsx";
import { Header, SimulatedBanner } from "./header.tsx";
import { useContextOf, useLive, useOutbox, useStickToEnd } from "./hooks.ts";
import { Icon } from "./icons.tsx";
import { type Known, knownIn, nameOf } from "./known.ts";
import type { Live } from "./live.ts";
import { Turn } from "./turn.tsx";
import { Outgoing, Queue } from "./waiting.tsx";

type Props = {
  readonly id: string;
  readonly title: string | undefined;
  /** What the conversation begins with, if it was just made. */
  readonly first: MessageCommand | undefined;
  /** Patients to pick from, beside those of the conversation. */
  readonly patients: readonly Known[];
  readonly onChange: () => void;
  readonly menu: boolean;
  readonly onMenu: () => void;
};

export function Conversation(props: Props) {
  const live = useLive(props.id);
  return live === undefined ? <main class="conversation" aria-busy="true" /> : <Open {...props} live={live} />;
}

function Open({ live, title, first, patients, onChange, menu, onMenu }: Props & { readonly live: Live }) {
  const { view, status } = useContextOf(live);
  const outbox = useOutbox(live);
  const known = useMemo(() => knownIn(view, patients), [view, patients]);
  const [picked, setPicked] = usePicked(view, first, known);
  const { box, onScroll, away, follow } = useStickToEnd(view, outbox.waiting);
  const running = runningTurn(view);

  const begun = useRef(false);
  useEffect(() => {
    if (first === undefined || begun.current) return;
    begun.current = true;
    outbox.send(first);
  }, [first, outbox.send]);

  // The list shows titles and states, which change with these.
  useEffect(() => onChange(), [view.status, view.turns.length, onChange]);

  const session = async () => live.id;
  const send = (command: MessageCommand) => {
    follow();
    outbox.send(command);
  };
  const retry = (turn: TurnView) => {
    if (!("text" in turn.input)) return;
    const { text, ...extras } = turn.input;
    send(message(text, extras));
  };
  const stop = (turnId: string) => {
    // A refused stop needs no words: the answer goes on in plain sight, and the button stays.
    live.connection.send(cancel(turnId)).catch(() => {});
  };

  return (
    <main class="conversation">
      <Header title={title ?? firstWords(view) ?? "New conversation"} status={status} menu={menu} onMenu={onMenu} />
      {view.simulated && <SimulatedBanner />}
      <div class="scroll" ref={box} onScroll={onScroll}>
        <div class="column" role="log" aria-label="Conversation" aria-busy={running !== undefined}>
          {olderThan(view) !== undefined && <Older live={live} />}
          {view.turns.map((turn, at) => (
            <Turn
              key={turn.turn_id}
              turn={turn}
              agent={view.agent ?? "assist"}
              patients={known.patients}
              plans={known.plans}
              {...(at === view.turns.length - 1 && { onRetry: retry })}
            />
          ))}
          {outbox.waiting.map((one) => (
            <Outgoing key={one.command.id} message={one} onRetry={outbox.send} onDiscard={outbox.discard} />
          ))}
          {view.compacting && <p class="note">Condensing earlier parts of the conversation…</p>}
          {view.pending && <p class="note pending">{view.pending.prompt}</p>}
        </div>
        {away && (
          <button type="button" class="to-end" onClick={follow}>
            <Icon name="down" /> Latest
          </button>
        )}
      </div>
      <Announcer view={view} />
      <Ended status={status} />
      <Queue waiting={view.queue} onTakeBack={stop} />
      <Composer
        picked={picked}
        onPick={setPicked}
        patients={known.patients}
        plans={known.plans}
        {...(view.limits && { limit: view.limits.text_bytes, fileLimit: view.limits.upload_bytes })}
        session={session}
        running={running !== undefined}
        disabled={status.kind === "ended"}
        onSend={send}
        onStop={() => running && stop(running.turn_id)}
      />
    </main>
  );
}

/** The context for the next message: what was picked here, else what the last message had. */
function usePicked(
  view: View,
  first: MessageCommand | undefined,
  { patients, plans }: ReturnType<typeof knownIn>,
): [Picked, (picked: Picked) => void] {
  const [picked, setPicked] = useState<Picked>();
  const input = view.turns.findLast((turn) => "text" in turn.input)?.input;
  const context = input && "text" in input ? input.context : first?.context;
  const last = { patient: nameOf(context?.patient_id ?? "", patients), plan: nameOf(context?.plan_id ?? "", plans) };
  return [picked ?? last, setPicked];
}

function firstWords(view: View): string | undefined {
  const first = view.turns[0];
  return first === undefined ? undefined : inputText(first.input);
}

function Older({ live }: { readonly live: Live }) {
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

/** Says to a screen reader that an answer begins and ends; the log itself is read when it is whole. */
function Announcer({ view }: { readonly view: View }) {
  const last = view.turns.at(-1);
  const words =
    last === undefined
      ? ""
      : last.ending === undefined
        ? "Assist is answering"
        : (endingText(last.ending) ?? "Answer complete");
  return (
    <p class="unseen" role="status">
      {words}
    </p>
  );
}

function Ended({ status }: { readonly status: SessionContext["status"] }) {
  if (status.kind !== "ended" || status.reason === "closed") return null;
  const login = status.reason === "login_required";
  return (
    <div class="ended" role="alert">
      <span>{login ? "Your login has ended." : "This conversation is not available to you."}</span>
      {login && (
        <button type="button" onClick={() => location.reload()}>
          Log in again
        </button>
      )}
    </div>
  );
}
