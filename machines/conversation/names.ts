const LEGAL = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/** FNV-1a, 32 bits, as 8 hex digits: short, stable over releases and free of any import. */
function shortHash(text: string): string {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) {
    hash = Math.imul(hash ^ byte, 0x01000193);
  }
  return (hash >>> 0).toString(16).padStart(8, "0");
}

/**
 * The name under which a tool is sent: 1–64 of `[A-Za-z0-9_-]`, beginning with a letter or underscore, which every
 * provider takes. A legal name is sent as it is; any other keeps what it can and gets a hash, so that two never meet.
 * Depends on the name alone: a replayed history maps as the declaration does.
 */
export function sentName(name: string): string {
  if (LEGAL.test(name)) return name;
  const kept = name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 54);
  return `${/^[A-Za-z_]/.test(kept) ? "" : "_"}${kept}_${shortHash(name)}`;
}

/** The tool behind a sent name: its own name if it is one of `names`, else the name as the model gave it. */
export const ownName = (sent: string, names: readonly string[]): string =>
  names.find((name) => sentName(name) === sent) ?? sent;
