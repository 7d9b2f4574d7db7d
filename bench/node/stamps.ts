import type { Conversations, Sink } from "../../runtime/sessions/conversations.ts";

export type Stamps = {
  /** Milliseconds of the turn that ended last: from its command's arrival behind the socket to its last frame. */
  readonly last: number;
};

/**
 * The same conversations with a clock at the gateway's side of them: it starts when the gateway hands a message over and
 * stops when the frame that follows the end of the turn was handed to the network. What the client does is not in it.
 */
export function stamped(conversations: Conversations): {
  readonly conversations: Conversations;
  readonly stamps: Stamps;
} {
  const stamps = { last: Number.NaN };
  let began = Number.NaN;
  let ended = false;
  const watching = (sink: Sink): Sink => ({
    send(signal) {
      sink.send(signal);
      if (signal.kind === "turn_completed") ended = true;
      else if (signal.kind === "state_changed" && ended) {
        ended = false;
        // The gateway hands this frame over to the network before it returns.
        stamps.last = performance.now() - began;
      }
    },
    close: (code, reason) => sink.close(code, reason),
  });
  return {
    stamps,
    conversations: {
      ...conversations,
      async attach(id, caller, after, sink) {
        const attached = await conversations.attach(id, caller, after, watching(sink));
        return {
          ...attached,
          deliver(command) {
            if (command.type === "message") {
              began = performance.now();
              ended = false;
            }
            return attached.deliver(command);
          },
        };
      },
    },
  };
}
