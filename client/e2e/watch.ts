import type { Page } from "playwright-core";

/** What a page did that a user does not see. */
export type Watch = {
  /** Errors of the console since the last call, exceptions and policy violations among them, as `text @ path`. */
  takeErrors(): readonly string[];
  /** Every origin that was asked for anything. */
  origins(): readonly string[];
};

const REPORT_VIOLATIONS = `document.addEventListener("securitypolicyviolation", (event) =>
  console.error("policy violation: " + event.violatedDirective + " " + event.blockedURI));`;

export async function watch(page: Page): Promise<Watch> {
  let errors: string[] = [];
  const origins = new Set<string>();
  const path = (url: string) => (URL.canParse(url) ? new URL(url).pathname : url);
  page.on("console", (line) => {
    if (line.type() === "error") errors.push(`${line.text()} @ ${path(line.location().url)}`);
  });
  page.on("pageerror", (error) => errors.push(`exception: ${error.message}`));
  page.on("request", (request) => origins.add(new URL(request.url()).origin));
  page.on("websocket", (socket) => origins.add(new URL(socket.url()).origin));
  await page.addInitScript(REPORT_VIOLATIONS);
  return {
    takeErrors() {
      const taken = errors;
      errors = [];
      return taken;
    },
    origins: () => [...origins].sort(),
  };
}

/** Keeps how long the last answer was at each change, and every line about the step at hand, from now on. */
export const recordAnswer = (page: Page): Promise<void> =>
  page.evaluate(`{
    const lengths = [], steps = [];
    const look = () => {
      const texts = document.querySelectorAll("[data-testid=block-text]");
      const length = texts[texts.length - 1]?.innerText.length ?? 0;
      if (length > 0 && lengths.at(-1) !== length) lengths.push(length);
      const line = [...document.querySelectorAll("[data-testid=how] summary")].at(-1)?.innerText.trim();
      if (line && steps.at(-1) !== line) steps.push(line);
    };
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
    window.recorded = { lengths, steps };
  }`);

export const recorded = (page: Page): Promise<{ readonly lengths: number[]; readonly steps: string[] }> =>
  page.evaluate("window.recorded");
