/** What the user's screen shows while they write, as the agent hands it over in `<context>`. */
export type Context = {
  readonly patient: { readonly id: string; readonly name: string | null } | null;
  readonly planId: string | null;
  readonly preferences: string;
};

export const NO_CONTEXT: Context = { patient: null, planId: null, preferences: "" };

export function readContext(xml: string): Context {
  const patient = attributes(xml, "patient");
  const id = patient["id"];
  const preferences = /<preferences[^>]*>([\s\S]*?)<\/preferences>/.exec(xml)?.[1] ?? "";
  return {
    patient: id === undefined ? null : { id, name: patient["name"] ?? null },
    planId: attributes(xml, "plan")["id"] ?? null,
    preferences: unescapeXml(preferences.replace(/<[^>]*>/g, " ")).trim(),
  };
}

function attributes(xml: string, element: string): Readonly<Record<string, string>> {
  const head = new RegExp(`<${element}\\b([^>]*?)/?>`).exec(xml)?.[1] ?? "";
  return Object.fromEntries(
    [...head.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, name = "", value = ""]) => [name, unescapeXml(value)]),
  );
}

const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };

function unescapeXml(text: string): string {
  return text.replace(
    /&(?:#(\d+)|#x([\da-f]+)|(lt|gt|quot|apos|amp));/gi,
    (whole, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? whole;
      const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
      return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
    },
  );
}
