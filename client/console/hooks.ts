import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { MessageCommand } from "../../machines/protocol/commands.ts";
import { cancel } from "../commands.ts";
import { sessionsApi } from "../http.ts";
import type { SessionContext } from "../store.ts";
import { runningTurn, type View } from "../view.ts";
import { type Live, type Outgoing, openLive } from "./live.ts";

export const api = sessionsApi("", (url, init) => fetch(url, init));

/** What follows `#/s/` in the address: the open conversation. */
export function useRoute(): [string | undefined, (session: string | undefined) => void] {
  const [route, setRoute] = useState(readRoute);
  useEffect(() => {
    const follow = () => setRoute(readRoute());
    window.addEventListener("hashchange", follow);
    return () => window.removeEventListener("hashchange", follow);
  }, []);
  const go = useCallback((session: string | undefined) => {
    location.hash = session === undefined ? "#/" : `#/s/${session}`;
  }, []);
  return [route, go];
}

const readRoute = (): string | undefined => /^#\/s\/([0-9a-f-]{36})$/.exec(location.hash)?.[1];

/** Keeps the conversation `id` open while it is shown. */
export function useLive(id: string): Live | undefined {
  const [live, setLive] = useState<Live>();
  useEffect(() => {
    const opened = openLive(id, api);
    setLive(opened);
    return () => opened.close();
  }, [id]);
  return live?.id === id ? live : undefined;
}

/** The store's context, at most once a frame: deltas come faster than a screen can show them. */
export function useContextOf(live: Live): SessionContext {
  const [context, setContext] = useState(() => live.store.getSnapshot().context);
  useEffect(() => {
    let frame = 0;
    const show = () => {
      frame = 0;
      setContext(live.store.getSnapshot().context);
    };
    const later = () => {
      frame ||= requestAnimationFrame(show);
    };
    const subscription = live.store.subscribe(later);
    show();
    return () => {
      subscription.unsubscribe();
      cancelAnimationFrame(frame);
    };
  }, [live]);
  return context;
}

/** The view, but the same object while nothing changes that a card or a list of names depends on: text may stream. */
export function useCalm(view: View): View {
  const last = view.turns.at(-1);
  const card = last?.blocks.findLast(({ type }) => type !== "text" && type !== "thinking");
  const texts = last?.blocks.filter(({ finished }) => finished).length;
  const { session_id, status, pending, resolved, actions, turns } = view;
  const marks = [session_id, status, pending, resolved, actions, turns.length, turns[0]?.n, last?.ending, card, texts];
  return useMemo(() => view, marks);
}

export type Stopping = {
  /** It was asked to stop, and runs on for the moment. */
  readonly asked: boolean;
  stop(): void;
  /** Takes back a message that waits. */
  takeBack(turnId: string): Promise<void>;
};

/** Stops the turn that runs, also at Escape, and takes back those that wait. */
export function useStopping(live: Live, view: View): Stopping {
  const running = runningTurn(view)?.turn_id;
  const [asked, setAsked] = useState<string>();
  const stop = useCallback(() => {
    if (running === undefined) return;
    setAsked(running);
    // A refused stop needs no words: the answer goes on in plain sight, and the button is there again.
    live.connection.send(cancel(running)).catch(() => setAsked(undefined));
  }, [live, running]);
  const takeBack = useCallback(
    async (turnId: string) => {
      await live.connection.send(cancel(turnId));
    },
    [live],
  );
  useEffect(() => {
    if (running === undefined) return;
    const onKey = (event: KeyboardEvent) => {
      const isTaken = event.defaultPrevented || document.querySelector("dialog[open], .menu-open") !== null;
      if (event.key === "Escape" && !event.isComposing && !isTaken) stop();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [running, stop]);
  return { asked: asked !== undefined && asked === running, stop, takeBack };
}

export type Outbox = {
  readonly waiting: readonly Outgoing[];
  send(command: MessageCommand): void;
  discard(id: string): void;
};

/** Messages that the server has not accepted yet. A refused one stays, with the reason, until it is sent again or discarded. */
export function useOutbox(live: Live): Outbox {
  const [waiting, setWaiting] = useState<readonly Outgoing[]>([]);
  const discard = useCallback((id: string) => setWaiting((all) => all.filter((one) => one.command.id !== id)), []);
  const send = useCallback(
    (command: MessageCommand) => {
      setWaiting((all) => [...all.filter((one) => one.command.id !== command.id), { command }]);
      live.connection.send(command).then(
        () => discard(command.id),
        (error: Error) =>
          setWaiting((all) =>
            all.map((one) => (one.command.id === command.id ? { command, problem: error.message } : one)),
          ),
      );
    },
    [live, discard],
  );
  return { waiting, send, discard };
}

/** Keeps a scrolled box at its end while its content grows, unless the reader has scrolled up. */
export function useStickToEnd(...content: readonly unknown[]) {
  const box = useRef<HTMLDivElement>(null);
  const stuck = useRef(true);
  const top = useRef(0);
  const [away, setAway] = useState(false);
  const toEnd = useCallback(() => {
    const { current } = box;
    if (current) current.scrollTop = current.scrollHeight;
  }, []);
  const onScroll = useCallback(() => {
    const { current } = box;
    if (!current) return;
    const atEnd = current.scrollHeight - current.scrollTop - current.clientHeight < 80;
    // Only moving up means reading back: the distance also grows when text arrives before this event does.
    if (atEnd || current.scrollTop < top.current) stuck.current = atEnd;
    top.current = current.scrollTop;
    setAway(!stuck.current);
  }, []);
  // Every change of the content may have made it longer.
  useEffect(() => {
    if (stuck.current) toEnd();
  }, [...content, toEnd]);
  const follow = useCallback(() => {
    stuck.current = true;
    setAway(false);
    toEnd();
  }, [toEnd]);
  return { box, onScroll, away, follow };
}
