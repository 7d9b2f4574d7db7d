import { useCallback, useEffect, useState } from "preact/hooks";
import type { MessageCommand } from "../../machines/protocol/commands.ts";
import { HttpRefused } from "../errors.ts";
import type { SessionSummary } from "../http.ts";
import { inputText } from "../words.ts";
import { Conversation } from "./conversation.tsx";
import { askHouse, demoPatients } from "./demo.ts";
import { api, useRoute } from "./hooks.ts";
import type { Known } from "./known.ts";
import { Login } from "./login.tsx";
import { NewConversation } from "./new-conversation.tsx";
import { Sidebar } from "./sidebar.tsx";

type Door =
  | { readonly kind: "opening" }
  | { readonly kind: "login"; readonly demo: boolean }
  | { readonly kind: "closed"; readonly message: string }
  | {
      readonly kind: "in";
      readonly sessions: readonly SessionSummary[];
      readonly simulated: boolean;
      readonly demo: boolean;
    };

const NOBODY: readonly Known[] = [];

/** The page: a login while there is none, else the list of conversations and the one that is open. */
export function App() {
  const [door, setDoor] = useState<Door>({ kind: "opening" });
  const [route, go] = useRoute();
  const [first, setFirst] = useState<{ readonly session: string; readonly command: MessageCommand }>();
  const [menu, setMenu] = useState(false);

  const refresh = useCallback(async () => setDoor(await knock()), []);
  useEffect(() => {
    refresh();
    const onFocus = () => refresh();
    window.addEventListener("focus", onFocus);
    return () => window.removeEventListener("focus", onFocus);
  }, [refresh]);

  const start = async (command: MessageCommand, made?: string) => {
    const session = made ?? (await api.create());
    setFirst({ session, command });
    go(session);
    refresh();
  };
  const open = (session: string | undefined) => {
    setMenu(false);
    go(session);
  };
  const erase = async (session: string) => {
    await api.erase(session);
    if (session === route) go(undefined);
    await refresh();
  };

  if (door.kind === "opening") return <main class="door" aria-busy="true" />;
  if (door.kind === "login") return <Login demo={door.demo} />;
  if (door.kind === "closed") return <Closed message={door.message} onRetry={refresh} />;
  const onMenu = () => setMenu(!menu);
  const patients = door.demo ? demoPatients : NOBODY;
  // A conversation gets its title with the first answer; until then its question stands for it.
  const sessions = door.sessions.map((one) =>
    one.title === null && one.session_id === first?.session ? { ...one, title: inputText(first.command) } : one,
  );
  return (
    <div class={menu ? "page menu-open" : "page"}>
      <Sidebar sessions={sessions} current={route} onOpen={open} onErase={erase} />
      <button type="button" class="scrim" aria-label="Close the list" tabIndex={menu ? 0 : -1} onClick={onMenu} />
      {route === undefined ? (
        <NewConversation onStart={start} simulated={door.simulated} patients={patients} menu={menu} onMenu={onMenu} />
      ) : (
        <Conversation
          key={route}
          id={route}
          title={sessions.find((one) => one.session_id === route)?.title ?? undefined}
          first={first?.session === route ? first.command : undefined}
          patients={patients}
          onChange={refresh}
          menu={menu}
          onMenu={onMenu}
        />
      )}
    </div>
  );
}

async function knock(): Promise<Door> {
  const house = askHouse();
  try {
    const sessions = await api.list();
    const { simulated, demo_login: demo } = await house;
    return { kind: "in", sessions, simulated, demo };
  } catch (error) {
    const { demo_login } = await house.catch(() => ({ demo_login: false }));
    if (error instanceof HttpRefused && error.status === 401) return { kind: "login", demo: demo_login };
    return { kind: "closed", message: error instanceof HttpRefused ? error.message : "The server does not answer." };
  }
}

function Closed({ message, onRetry }: { readonly message: string; readonly onRetry: () => void }) {
  return (
    <main class="door">
      <div class="panel" role="alert">
        <h1>Assist is not available</h1>
        <p>{message}</p>
        <button type="button" class="primary" onClick={onRetry}>
          Try again
        </button>
      </div>
    </main>
  );
}
