/** What came back from a call, as far as it can be read. `shortened` data lost records at its end. */
export type Outcome =
  | { readonly kind: "data"; readonly data: unknown; readonly shortened: boolean }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "error"; readonly reason: string }
  | { readonly kind: "no_tool" };

/** Reads a function response: an object, text that is JSON, JSON that was shortened on the way, or plain text. */
export function outcomeOf(output: unknown, error: string | null): Outcome {
  if (error !== null) return { kind: "error", reason: error };
  if (typeof output !== "string") return { kind: "data", data: output, shortened: false };
  const text = output.trim();
  if (!text.startsWith("{") && !text.startsWith("[")) return { kind: "text", text: output };
  try {
    return { kind: "data", data: JSON.parse(text), shortened: false };
  } catch {
    const rest = salvage(text);
    return rest === undefined ? { kind: "text", text: output } : { kind: "data", data: rest, shortened: true };
  }
}

/** Keeps the whole records at the head of `{"name":[{…},{…},…` whose rest was cut or replaced by a marker. */
function salvage(text: string): Readonly<Record<string, unknown>> | undefined {
  const head = /^\{\s*"(\w+)"\s*:\s*\[/.exec(text);
  if (head?.[1] === undefined) return undefined;
  const records: unknown[] = [];
  let at = head[0].length;
  for (;;) {
    while (/[\s,]/.test(text[at] ?? "")) at += 1;
    const end = text[at] === "{" ? endOfObject(text, at) : undefined;
    if (end === undefined) break;
    try {
      records.push(JSON.parse(text.slice(at, end)));
    } catch {
      break; // the marker stands inside this record
    }
    at = end;
  }
  return records.length === 0 ? undefined : { [head[1]]: records };
}

function endOfObject(text: string, start: number): number | undefined {
  let depth = 0;
  let inString = false;
  for (let at = start; at < text.length; at += 1) {
    const char = text[at];
    if (inString) {
      if (char === "\\") at += 1;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === "{") depth += 1;
    else if (char === "}") {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return undefined;
}
