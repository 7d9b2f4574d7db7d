import fc from "fast-check";
import { expect, test } from "vitest";
import { parseMarkdown, type Rich, safeUrl } from "./markdown.ts";

const words = (nodes: readonly Rich[]): string =>
  nodes.map((node) => (typeof node === "string" ? node : words(node.children))).join("");
const links = (nodes: readonly Rich[]): string[] =>
  nodes.flatMap((node) =>
    typeof node === "string" ? [] : ["href" in node ? [node.href] : [], links(node.children)].flat(),
  );

test("Markdown becomes elements", () => {
  expect(
    parseMarkdown("# Dose\nTake **200 mg** with `food` &amp; water\n\n1. *one*\n2. [two](https://example.org/a)"),
  ).toEqual([
    { tag: "h3", children: ["Dose"] },
    {
      tag: "p",
      children: [
        "Take ",
        { tag: "strong", children: ["200 mg"] },
        " with ",
        { tag: "code", children: ["food"] },
        " & water",
      ],
    },
    {
      tag: "ol",
      children: [
        { tag: "li", children: [{ tag: "em", children: ["one"] }] },
        { tag: "li", children: [{ tag: "a", href: "https://example.org/a", children: ["two"] }] },
      ],
    },
  ]);
});

test("a table becomes a table", () => {
  const cell = (tag: "th" | "td", text: string): Rich => ({ tag, children: [text] });
  expect(parseMarkdown("|a|b|\n|-|-|\n|1|2|")).toEqual([
    {
      tag: "table",
      children: [
        { tag: "thead", children: [{ tag: "tr", children: [cell("th", "a"), cell("th", "b")] }] },
        { tag: "tbody", children: [{ tag: "tr", children: [cell("td", "1"), cell("td", "2")] }] },
      ],
    },
  ]);
});

test.each([
  "<script>alert(1)</script>",
  'before <img src="x" onerror="alert(1)"> after',
  '<a href="javascript:alert(1)">x</a>',
  '<iframe src="https://example.org"></iframe>',
  "<style>*{display:none}</style>",
])("HTML stays text: %s", (source) => {
  const tree = parseMarkdown(source);
  expect([words(tree), links(tree)]).toEqual([source, []]);
});

test.each([
  "[x](javascript:alert(1))",
  "[x](JaVaScRiPt:alert(1))",
  "[x](java&#115;cript:alert(1))",
  "[x](data:text/html,<script>alert(1)</script>)",
  "[x](vbscript:a)",
  "[x](/login?user=dr-chen)",
  "[x](//example.org)",
])("a link that leads nowhere safe is only its text: %s", (source) => {
  expect(parseMarkdown(source)).toEqual([{ tag: "p", children: ["x"] }]);
});

test("an image is never fetched: its description is shown", () => {
  expect(parseMarkdown("![a chart](https://example.org/track.png)")).toEqual([{ tag: "p", children: ["a chart"] }]);
});

test("whatever is typed, only listed elements and safe links come out", () => {
  const allowed = /^(p|h3|h4|h5|ul|ol|li|strong|em|del|code|pre|blockquote|br|hr|table|thead|tbody|tr|th|td|a)$/;
  const tags = (nodes: readonly Rich[]): string[] =>
    nodes.flatMap((node) => (typeof node === "string" ? [] : [node.tag, ...tags(node.children)]));
  const piece = fc.oneof(
    fc.string(),
    fc.constantFrom("<script>", "](javascript:", "[a](", "![", "**", "`", "|", "\n", "- ", "&#106;", '" onerror="'),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const tree = parseMarkdown(pieces.join(""));
      expect(tags(tree).filter((tag) => !allowed.test(tag))).toEqual([]);
      expect(links(tree).filter((href) => safeUrl(href) === undefined)).toEqual([]);
    }),
    { numRuns: 500 },
  );
});
