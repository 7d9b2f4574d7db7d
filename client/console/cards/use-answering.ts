import { useCallback, useState } from "preact/hooks";
import type { Resolution } from "../../../machines/protocol/commands.ts";
import { resolve, type Shown } from "../../commands.ts";
import { receiptProblem, sentence } from "../../words.ts";
import { useDesk } from "../desk.ts";

/** What became of an answer that was given here. `over`: the server says that nobody can give one any more. */
export type Given =
  | { readonly kind: "none" }
  /** Until the state of the session shows it. */
  | { readonly kind: "sent" }
  | { readonly kind: "problem" | "over"; readonly words: string };

/** Gives an answer to an interaction, and tells what came of it. */
export function useAnswering(shown: Shown): readonly [Given, (resolution: Resolution) => void] {
  const { send, follow } = useDesk();
  const [given, setGiven] = useState<Given>({ kind: "none" });
  const { id, revision } = shown;
  const give = useCallback(
    (resolution: Resolution) => {
      setGiven({ kind: "sent" });
      follow();
      send(resolve({ id, revision }, resolution)).then(
        (receipt) => {
          const words = receiptProblem(receipt);
          // Only a bad answer can be given better; everything else is settled.
          if (words !== undefined) setGiven({ kind: receipt.result === "invalid" ? "problem" : "over", words });
        },
        (error: Error) => setGiven({ kind: "problem", words: `${sentence(error.message)}.` }),
      );
    },
    [send, follow, id, revision],
  );
  return [given, give];
}
