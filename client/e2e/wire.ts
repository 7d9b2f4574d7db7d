import type { Page } from "playwright-core";

/** A hand on the socket of a page. */
export type Wire = {
  /** Keeps what changes the view back from now on; answers to commands pass. */
  hold(): void;
  /** Lets it through, and all that follows. */
  release(): void;
  /** Types of the commands that the page sent, in order. */
  readonly sent: string[];
  /** What becomes of a command of the page; itself unless said otherwise. */
  rewrite: (command: Readonly<Record<string, unknown>>) => unknown;
};

/** To be called before the page is opened. */
export async function tapWire(page: Page): Promise<Wire> {
  let held: (() => void)[] | undefined;
  const wire: Wire = {
    hold() {
      held ??= [];
    },
    release() {
      const kept = held ?? [];
      held = undefined;
      for (const pass of kept) pass();
    },
    sent: [],
    rewrite: (command) => command,
  };
  await page.routeWebSocket(/\/v1\/socket/, (socket) => {
    const server = socket.connectToServer();
    socket.onMessage((text) => {
      const command = JSON.parse(String(text)) as { readonly type: string };
      wire.sent.push(command.type);
      server.send(JSON.stringify(wire.rewrite(command)));
    });
    server.onMessage((text) => {
      const isNumbered = (JSON.parse(String(text)) as { seq?: number }).seq !== undefined;
      if (isNumbered && held !== undefined) held.push(() => socket.send(text));
      else socket.send(text);
    });
  });
  return wire;
}
