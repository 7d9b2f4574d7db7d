import type { Clock } from "../clock.ts";
import type { SocketFactory, WebSocketLike } from "../socket.ts";

type Hook<Event> = ((event: Event) => void) | null;

/** A socket that the test plays the server of. */
export class FakeSocket implements WebSocketLike {
  onopen: Hook<never> = null;
  onmessage: Hook<never> = null;
  onclose: Hook<never> = null;
  onerror: Hook<never> = null;
  readonly url: string;
  readonly protocols: readonly string[];
  readonly sent: unknown[] = [];
  dropped: number | undefined;

  constructor(url: string, protocols: readonly string[]) {
    this.url = url;
    this.protocols = protocols;
  }
  send(data: string): void {
    this.sent.push(JSON.parse(data));
  }
  close(code?: number): void {
    this.dropped = code;
  }
  opens(): void {
    (this.onopen as Hook<object>)?.({});
  }
  says(...signals: readonly unknown[]): void {
    for (const signal of signals) this.saysText(JSON.stringify(signal));
  }
  saysText(data: string): void {
    (this.onmessage as Hook<{ data: string }>)?.({ data });
  }
  closes(code: number): void {
    (this.onclose as Hook<{ code: number }>)?.({ code });
  }
}

/** A factory that keeps every socket it made. */
export function fakeSockets(): { readonly made: FakeSocket[]; readonly factory: SocketFactory; last(): FakeSocket } {
  const made: FakeSocket[] = [];
  return {
    made,
    factory(url, protocols) {
      const socket = new FakeSocket(url, protocols);
      made.push(socket);
      return socket;
    },
    last() {
      const socket = made.at(-1);
      if (socket === undefined) throw new TypeError("no socket was made yet");
      return socket;
    },
  };
}

/** Time that stands still until `pass`. */
export function fakeClock(): Clock & { pass(ms: number): void; sleep(ms: number): void } {
  let time = 1_000_000;
  let next = 0;
  const timers = new Map<number, { readonly at: number; readonly run: () => void }>();
  return {
    now: () => time,
    after(ms, run) {
      const id = next++;
      timers.set(id, { at: time + ms, run });
      return () => timers.delete(id);
    },
    /** Time goes on and no timer runs: the machine is asleep. */
    sleep(ms) {
      time += ms;
    },
    pass(ms) {
      const until = time + ms;
      for (;;) {
        const due = [...timers].filter(([, timer]) => timer.at <= until).sort(([, a], [, b]) => a.at - b.at)[0];
        if (due === undefined) break;
        timers.delete(due[0]);
        time = Math.max(time, due[1].at);
        due[1].run();
      }
      time = until;
    },
  };
}
