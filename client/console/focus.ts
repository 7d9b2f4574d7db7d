/** Whether nobody is writing: nothing has the focus, or a field for messages that is empty. */
function isFree(at: Element | null): boolean {
  if (at === null || at === document.body) return true;
  return at instanceof HTMLTextAreaElement && at.dataset["testid"] === "message-input" && at.value === "";
}

/**
 * Gives the focus to a card that waits for an answer, unless somebody is writing: to the part marked `data-first`, else to
 * the card. A card that is taller than what is shown of it is read from its top.
 */
export function offerFocus(card: HTMLElement): void {
  // Whoever reads further up is told by the announcement, and goes on reading.
  if (card.closest(".scroll")?.querySelector(".to-end")) return;
  const shown = card.closest(".scroll")?.clientHeight ?? window.innerHeight;
  const isTall = card.offsetHeight > shown;
  if (isFree(document.activeElement))
    (card.querySelector<HTMLElement>("[data-first]") ?? card).focus({ preventScroll: true });
  // After the column has followed its growth.
  requestAnimationFrame(() => card.scrollIntoView({ block: isTall ? "start" : "nearest" }));
}

/** Where the next message is written. */
export const focusMessage = (): void => document.querySelector<HTMLElement>("[data-testid=message-input]")?.focus();
