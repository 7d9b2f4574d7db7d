import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { MessageCommand } from "../../machines/protocol/commands.ts";
import { message } from "../commands.ts";
import { olderThan, runningTurn, type TurnView, type View } from "../view.ts";
import { inputText } from "../words.ts";
import { Composer, type Picked } from "./composer.tsx";
import { AtDesk, type Desk } from "./desk.ts";
import { Header, SimulatedBanner } from "./header.tsx";
import { useCalm, useContextOf, useLive, useOutbox, useStickToEnd, useStopping } from "./hooks.ts";
import { Icon } from "./icons.tsx";
import { type Known, knownIn, nameOf } from "./known.ts";
import type { Live } from "./live.ts";
import { ContextMeter } from "./meter.tsx";
import { Announcer, Ended, Older, Unshown } from "./notices.tsx";
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
  const calm = useCalm(view);
  const outbox = useOutbox(live);
  const known = useMemo(() => knownIn(calm, patients), [calm, patients]);
  const [picked, setPicked] = usePicked(calm, first, known);
  const { box, onScroll, away, follow } = useStickToEnd(view, outbox.waiting);
  const stopping = useStopping(live, view);
  const isRunning = runningTurn(view) !== undefined;

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
  const say = useRef(send);
  say.current = send;
  const desk = useMemo(
    (): Desk => ({
      view: calm,
      ...known,
      picked,
      send: live.connection.send,
      say: (command) => say.current(command),
      follow,
      now: live.now,
    }),
    [calm, known, picked, live, follow],
  );

  return (
    <AtDesk value={desk}>
      <main class="conversation">
        <Header
          title={title ?? firstWords(view) ?? "New conversation"}
          status={status}
          onRetryNow={live.connection.retryNow}
          menu={menu}
          onMenu={onMenu}
        >
          {view.budget && <ContextMeter budget={view.budget} compacting={view.compacting} />}
        </Header>
        {view.simulated && <SimulatedBanner />}
        <div class="scroll" ref={box} onScroll={onScroll}>
          <div class="column" role="log" aria-label="Conversation" aria-busy={isRunning}>
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
            <Unshown view={calm} />
            {outbox.waiting.map((one) => (
              <Outgoing key={one.command.id} message={one} onRetry={outbox.send} onDiscard={outbox.discard} />
            ))}
            {view.compacting && <p class="note">Condensing earlier parts of the conversation…</p>}
          </div>
          {away && (
            <button type="button" class="to-end" onClick={follow}>
              <Icon name="down" /> Latest
            </button>
          )}
        </div>
        <Announcer view={view} />
        <Ended status={status} />
        <Queue waiting={view.queue} onTakeBack={stopping.takeBack} />
        <Composer
          picked={picked}
          onPick={setPicked}
          patients={known.patients}
          plans={known.plans}
          {...(view.limits && { limit: view.limits.text_bytes, fileLimit: view.limits.upload_bytes })}
          session={session}
          running={isRunning && status.kind !== "ended"}
          stopping={stopping.asked}
          asked={view.pending !== null}
          disabled={status.kind === "ended"}
          onSend={send}
          onStop={stopping.stop}
        />
      </main>
    </AtDesk>
  );
}

/** The context for the next message: what was picked here, else what the last message had. */
function usePicked(
  view: View,
  first: MessageCommand | undefined,
  { patients, plans }: ReturnType<typeof knownIn>,
): [Picked, (picked: Picked) => void] {
  const [picked, setPicked] = useState<Picked>();
  const last = useMemo(() => {
    const input = view.turns.findLast((turn) => "text" in turn.input)?.input;
    const context = input && "text" in input ? input.context : first?.context;
    return { patient: nameOf(context?.patient_id ?? "", patients), plan: nameOf(context?.plan_id ?? "", plans) };
  }, [view, first, patients, plans]);
  return [picked ?? last, setPicked];
}

function firstWords(view: View): string | undefined {
  const first = view.turns[0];
  return first === undefined ? undefined : inputText(first.input);
}
