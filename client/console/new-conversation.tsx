import { useRef, useState } from "preact/hooks";
import type { MessageCommand } from "../../machines/protocol/commands.ts";
import { message } from "../commands.ts";
import { Composer, contextOf, type Picked } from "./composer.tsx";
import { entryPoints, examples } from "./demo.ts";
import { Header, SimulatedBanner } from "./header.tsx";
import { api } from "./hooks.ts";
import type { Known } from "./known.ts";

type Props = {
  /** `session` is there when a file made it necessary before. */
  readonly onStart: (command: MessageCommand, session?: string) => Promise<void>;
  readonly simulated: boolean;
  readonly patients: readonly Known[];
  readonly menu: boolean;
  readonly onMenu: () => void;
};

/** The page before the first message: the conversation is made when there is something to say. */
export function NewConversation({ onStart, simulated, patients, menu, onMenu }: Props) {
  const [picked, setPicked] = useState<Picked>({ patient: "", plan: "" });
  const [starting, setStarting] = useState(false);
  const [problem, setProblem] = useState<string>();
  const made = useRef<Promise<string>>();
  /** A file needs a conversation to belong to, even before the first word. */
  const session = (): Promise<string> => {
    made.current ??= api.create().catch((error: unknown) => {
      made.current = undefined;
      throw error;
    });
    return made.current;
  };

  const start = (command: MessageCommand) => {
    setStarting(true);
    setProblem(undefined);
    Promise.resolve(made.current)
      .then((session) => onStart(command, session))
      .catch((error: Error) => setProblem(error.message))
      .finally(() => setStarting(false));
  };
  const context = contextOf(picked, patients, []);

  return (
    <main class="conversation">
      <Header title="New conversation" menu={menu} onMenu={onMenu} />
      {simulated && <SimulatedBanner />}
      <div class="scroll">
        <div class="column welcome">
          <h2>What can I help you with?</h2>
          <p class="muted">
            Assist looks up patients, products, interactions and evidence in your platform, and drafts plans for you to
            review.
          </p>
          <ul class="examples">
            {examples.map((text) => (
              <li key={text}>
                <button type="button" disabled={starting} onClick={() => start(message(text, context))}>
                  {text}
                </button>
              </li>
            ))}
          </ul>
          <div class="entry-points">
            {entryPoints.map(({ id, label }) => (
              <button
                key={id}
                type="button"
                class="entry-point"
                data-testid={`entry-${id}`}
                disabled={starting}
                onClick={() => start(message("", { ...context, entry_point: id }))}
              >
                {label}
                {picked.patient !== "" && <span class="muted"> for {picked.patient}</span>}
              </button>
            ))}
          </div>
          {problem && (
            <p class="problem" role="alert">
              {problem}
            </p>
          )}
        </div>
      </div>
      <Composer
        picked={picked}
        onPick={setPicked}
        patients={patients}
        plans={[]}
        session={session}
        running={false}
        disabled={starting}
        onSend={start}
        onStop={() => {}}
      />
    </main>
  );
}
