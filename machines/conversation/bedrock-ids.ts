import type { ToolCall } from "./entries.ts";
import { sentName } from "./names.ts";

const LEGAL = /^[A-Za-z0-9_-]{1,64}$/;

const legal = (id: string): string => (LEGAL.test(id) ? id : sentName(id));

/**
 * Gives each call of a history the id it is sent under: 1–64 of `[A-Za-z0-9_-]`, no two alike. The provider's own calls
 * get back what it called them. Depends on the calls before it alone, so that every build of a history gives the same.
 */
export function callIds(): (call: ToolCall, own: boolean) => string {
  const used = new Set<string>();
  return (call, own) => {
    const wanted = own && call.providerId !== undefined && call.providerId !== "" ? call.providerId : call.callId;
    let id = legal(wanted);
    for (let again = 2; used.has(id); again += 1) id = sentName(`${wanted}#${again}`);
    used.add(id);
    return id;
  };
}
