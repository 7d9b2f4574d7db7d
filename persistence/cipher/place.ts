/** Where a sealed value lives. It only opens at exactly this place. */
export type Place = { readonly table: string; readonly column: string; readonly row: RowKey };
export type RowKey = string | number | readonly (string | number)[];

/**
 * Associated data of a list of names: the count, then each length before its text, so no two lists look alike.
 * UTF-16, because UTF-8 would make one character of all lone surrogates.
 */
export function associated(names: readonly string[]): Buffer {
  const parts = [length(names.length)];
  for (const name of names) {
    const bytes = Buffer.from(name, "utf16le");
    parts.push(length(bytes.length), bytes);
  }
  return Buffer.concat(parts);
}

export function rowNames(row: RowKey): string[] {
  return typeof row === "object" ? row.map(String) : [String(row)];
}

function length(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
