import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { MessageCommand } from "../../machines/protocol/commands.ts";
import type { Connection } from "../connection.ts";
import type { View } from "../view.ts";
import type { Picked } from "./composer.tsx";
import type { Known } from "./known.ts";

/** What cards need of the open conversation to be answered or used. */
export type Desk = {
  /** The same object while nothing but text changes, so that cards are not drawn again with every delta. */
  readonly view: View;
  readonly patients: readonly Known[];
  readonly plans: readonly Known[];
  /** Chosen for the next message. */
  readonly picked: Picked;
  readonly send: Connection["send"];
  readonly say: (command: MessageCommand) => void;
  /** Shows the end of the conversation, also when it grows. */
  readonly follow: () => void;
  /** The server's clock, milliseconds. */
  readonly now: () => number;
};

const DeskContext = createContext<Desk | undefined>(undefined);

export const AtDesk = DeskContext.Provider;

export function useDesk(): Desk {
  const desk = useContext(DeskContext);
  if (desk === undefined) throw new TypeError("a card was drawn outside of a conversation");
  return desk;
}
