import { h, type VNode } from "preact";
import { useMemo } from "preact/hooks";
import { parseMarkdown, type Rich } from "./markdown.ts";

/** Text of the model, shown as safe Markdown. Elements keep their place while text streams in. */
export function Markdown({ text }: { readonly text: string }) {
  const tree = useMemo(() => parseMarkdown(text), [text]);
  return <div class="markdown">{tree.map(show)}</div>;
}

function show(node: Rich): VNode | string {
  if (typeof node === "string") return node;
  const children = node.children.map(show);
  if ("href" in node)
    return (
      <a href={node.href} target="_blank" rel="noopener noreferrer">
        {children}
      </a>
    );
  if (node.tag === "table")
    return (
      <div class="table-scroll">
        <table>{children}</table>
      </div>
    );
  return h(node.tag, null, children);
}
