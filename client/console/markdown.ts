import { lexer, type Token, type Tokens } from "marked";

/** What Markdown may become. Nothing outside this list exists, so nothing has to be removed. */
export type Tag =
  | "p"
  | "h3"
  | "h4"
  | "h5"
  | "ul"
  | "ol"
  | "li"
  | "strong"
  | "em"
  | "del"
  | "code"
  | "pre"
  | "blockquote"
  | "br"
  | "hr"
  | "table"
  | "thead"
  | "tbody"
  | "tr"
  | "th"
  | "td";

export type Rich =
  | string
  | { readonly tag: Tag; readonly children: readonly Rich[] }
  | { readonly tag: "a"; readonly href: string; readonly children: readonly Rich[] };

/**
 * Reads Markdown into a tree of text and harmless elements. HTML in the source stays visible as text, images become
 * their description, and links lead only to web and mail addresses.
 */
export const parseMarkdown = (source: string): readonly Rich[] =>
  lexer(source, { gfm: true, breaks: true }).flatMap(rich);

function rich(token: Token): readonly Rich[] {
  switch (token.type) {
    case "space":
    case "def":
      return [];
    case "heading":
      return [element(HEADINGS[Math.min((token as Tokens.Heading).depth, 3) - 1] ?? "h5", inside(token))];
    case "paragraph":
      return [element("p", inside(token))];
    case "blockquote":
      return [element("blockquote", inside(token))];
    case "strong":
    case "em":
    case "del":
      return [element(token.type, inside(token))];
    case "code":
      return [element("pre", [element("code", [String(token["text"])])])];
    case "codespan":
      return [element("code", [String(token["text"])])];
    case "hr":
    case "br":
      return [element(token.type, [])];
    case "list":
      return [list(token as Tokens.List)];
    case "table":
      return [table(token as Tokens.Table)];
    case "link":
      return link(token as Tokens.Link);
    case "image":
      return [decoded(String(token["text"]))];
    case "text":
      return inside(token);
    case "checkbox":
      return [(token as Tokens.Checkbox).checked ? "☑ " : "☐ "];
    case "escape":
      return [String(token["text"])];
    default:
      // HTML, and whatever a later version of the parser invents: as it was written.
      return [token.raw];
  }
}

const HEADINGS = ["h3", "h4", "h5"] as const;

const element = (tag: Tag, children: readonly Rich[]): Rich => ({ tag, children });

function inside(token: Token): readonly Rich[] {
  const { tokens, text } = token as { readonly tokens?: Token[]; readonly text?: string };
  return tokens === undefined ? [decoded(text ?? token.raw)] : tokens.flatMap(rich);
}

function list({ ordered, items }: Tokens.List): Rich {
  return element(
    ordered ? "ol" : "ul",
    items.map((item) => element("li", item.tokens.flatMap(rich))),
  );
}

function table({ header, rows }: Tokens.Table): Rich {
  const row = (cells: readonly Tokens.TableCell[], tag: "th" | "td") =>
    element(
      "tr",
      cells.map((cell) => element(tag, cell.tokens.flatMap(rich))),
    );
  return element("table", [
    element("thead", [row(header, "th")]),
    element(
      "tbody",
      rows.map((cells) => row(cells, "td")),
    ),
  ]);
}

function link(token: Tokens.Link): readonly Rich[] {
  const href = safeUrl(token.href);
  return href === undefined ? inside(token) : [{ tag: "a", href, children: inside(token) }];
}

/** An absolute web or mail address, or undefined for every other scheme and for relative addresses. */
export function safeUrl(address: string): string | undefined {
  try {
    const url = new URL(address);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : undefined;
  } catch {
    return undefined;
  }
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" };

/** The parser leaves entities to the HTML that it would write; we write text. */
function decoded(text: string): string {
  return text.replaceAll(/&(?:#(\d{1,6})|([a-z]+));/g, (whole, code: string | undefined, name: string | undefined) => {
    if (code !== undefined) return Number(code) <= 0x10ffff ? String.fromCodePoint(Number(code)) : whole;
    return ENTITIES[name ?? ""] ?? whole;
  });
}
