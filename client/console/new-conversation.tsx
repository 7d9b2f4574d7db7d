import { useState } from "preact/hooks";
import type { MessageCommand } from "../../machines/protocol/commands.ts";
import { message } from "../commands.ts";
import { Composer, contextOf, type Picked } from "./composer.tsx";
import { entryPoints, examples } from "./demo.ts";
import { Header, SimulatedBanner } from "./header.tsx";

type Props = {
  readonly onStart: (command: MessageCommand) => Promise<void>;
  readonly simulated: boolean;
  readonly menu: boolean;
  readonly onMenu: () => void;
};

/** The page before the first message: the conversation is made when there is something to say. */
export function NewConversation({ onStart, simulated, menu, onMenu }: Props) {
  const [picked, setPicked] = useState<Picked>({ patient: "", plan: "" });
  const [starting, setStarting] = useState(false);
  const [problem, setProblem] = useState<string>();

  const start = (command: MessageCommand) => {
    setStarting(true);
    setProblem(undefined);
    onStart(command)
      .catch((error: Error) => setProblem(error.message))
      .finally(() => setStarting(false));
  };
  const context = contextOf(picked, [], []);

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
        patients={[]}
        plans={[]}
        running={false}
        disabled={starting}
        onSend={start}
        onStop={() => {}}
      />
    </main>
  );
}
