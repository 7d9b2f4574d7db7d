import type { Page } from "playwright-core";

export type Named = { readonly role: string; readonly name: string };

/** Everything that assistive technology is told of, with its role and computed name. */
export async function accessTree(page: Page): Promise<readonly Named[]> {
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send("Accessibility.getFullAXTree");
  await session.detach();
  return nodes
    .filter(({ ignored }) => !ignored)
    .map(({ role, name }) => ({ role: String(role?.value ?? ""), name: String(name?.value ?? "").trim() }));
}

const NAMED = [
  "button",
  "link",
  "textbox",
  "combobox",
  "dialog",
  "navigation",
  "log",
  "region",
  "heading",
  "DisclosureTriangle",
];

/** Roles of things that need a name and have none. */
export const nameless = (tree: readonly Named[]): readonly string[] =>
  tree.filter(({ role, name }) => NAMED.includes(role) && name === "").map(({ role }) => role);

/** Visible text whose contrast with its ground is under 4.5 : 1 (WCAG AA), as `ratio text`; disabled controls aside. */
export const faintText = (page: Page): Promise<readonly string[]> =>
  page.evaluate(`(() => {
    const parse = (color) => (color.match(/[\\d.]+/g) ?? []).map(Number);
    const part = (v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
    const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    const ground = (element) => {
      for (let at = element; at; at = at.parentElement) {
        const color = parse(getComputedStyle(at).backgroundColor);
        if (color.length === 3 || color[3] === 1) return color;
      }
      return [255, 255, 255];
    };
    const own = (element) => [...element.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data).join("").trim();
    return [...document.querySelectorAll("body *")].flatMap((element) => {
      const text = own(element);
      if (text === "" || element.closest(":disabled, script, noscript, option") || !element.checkVisibility()) return [];
      const [a, b] = [light(parse(getComputedStyle(element).color)), light(ground(element))].sort((x, y) => y - x);
      const ratio = (a + 0.05) / (b + 0.05);
      return ratio < 4.5 ? [ratio.toFixed(2) + " " + text.slice(0, 40)] : [];
    });
  })()`);

/** How many pixels wide the page and its scrolled column are beyond what is shown of them. */
export const sidewaysScroll = (page: Page): Promise<readonly number[]> =>
  page.evaluate(`[document.documentElement, document.body, ...document.querySelectorAll(".scroll, .sidebar")].map(
    (box) => Math.max(0, box.scrollWidth - box.clientWidth))`);
