import { useEffect, useMemo, useRef } from "preact/hooks";
import type { CardData } from "../../../machines/protocol/cards.ts";
import { standing } from "../../interactions.ts";
import { useDesk } from "../desk.ts";
import { offerFocus } from "../focus.ts";
import { Choice } from "./choice.tsx";
import { Decided } from "./decided.tsx";
import { Frame } from "./frame.tsx";
import { outcomeOf } from "./outcome.ts";
import { Picker } from "./picker.tsx";
import { ProposalForm } from "./proposal.tsx";
import { timeLeftText } from "./time-left.ts";
import { useAnswering } from "./use-answering.ts";
import { useTimeLeft } from "./use-time-left.ts";

export type AskedData = CardData<"interaction_request">;

/** A question or a proposal: to be answered while it is open, else how it ended. */
export function Asked({ data }: { readonly data: AskedData }) {
  const { view, now } = useDesk();
  const { interaction_id: id, revision } = data;
  const stands = useMemo(() => standing(view, { interaction_id: id, revision }), [view, id, revision]);
  const [given, give] = useAnswering({ id, revision });
  const left = useTimeLeft(data.expires_at);
  const box = useRef<HTMLElement>(null);
  const isOpen = stands.kind === "open";
  useEffect(() => {
    if (isOpen && box.current) offerFocus(box.current);
  }, [isOpen]);

  const isLive = (isOpen || stands.kind === "settling") && given.kind !== "over";
  if (!isLive) {
    const outcome = outcomeOf(view, data, stands, now(), given.kind === "over" ? given.words : undefined);
    return (
      <Frame kind="interaction_request" title={titleOf(data)} state="closed" aside={<Badge {...outcome.badge} />}>
        <Decided data={data} outcome={outcome} />
      </Frame>
    );
  }

  const isOver = left !== undefined && left <= 0;
  const form = {
    data,
    isOff: !isOpen || isOver || given.kind === "sent",
    isSending: given.kind === "sent",
    onGive: give,
    problem: isOver ? "The time to answer this is over." : given.kind === "problem" ? given.words : undefined,
  };
  const aside = left === undefined ? undefined : <Badge tone={isOver ? "" : "warn"} words={timeLeftText(left)} />;
  return (
    <Frame
      kind="interaction_request"
      title={titleOf(data)}
      state={isOpen ? "open" : "settling"}
      aside={aside}
      box={box}
    >
      {data.kind === "plan_proposal" ? (
        <ProposalForm {...form} />
      ) : data.kind === "patient_picker" ? (
        <Picker {...form} isOpenEnded={isOpen && isOpenEnded(stands.pending.schema)} />
      ) : (
        <Choice {...form} />
      )}
    </Frame>
  );
}

/** What every form of a card gets. */
export type FormProps = {
  readonly data: AskedData;
  /** Nothing can be given now. */
  readonly isOff: boolean;
  readonly isSending: boolean;
  readonly onGive: ReturnType<typeof useAnswering>[1];
  readonly problem: string | undefined;
};

function titleOf({ kind, proposal }: AskedData): string {
  if (kind === "plan_proposal")
    return proposal?.plan_id === undefined ? "Proposed plan" : "Proposed additions to a plan";
  return kind === "patient_picker" ? "Choose a patient" : "Question for you";
}

/** A picker whose list is not everyone takes any id. */
function isOpenEnded(schema: Readonly<Record<string, unknown>>): boolean {
  const items = (schema["items"] ?? {}) as Readonly<Record<string, unknown>>;
  return !("enum" in items);
}

function Badge({ tone, words }: { readonly tone: string; readonly words: string }) {
  return (
    <span class={`badge ${tone}`} data-testid="card-badge">
      {words}
    </span>
  );
}
