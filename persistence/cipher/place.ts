/** Where a sealed value lives. It only opens at exactly this place. */
export type Place = {
  readonly table: string;
  readonly column: string;
  readonly row: RowKey;
  /** The column that holds it now, where it was moved: it opens by the old name, people look for it under this one. */
  readonly movedTo?: string;
};
export type RowKey = string | number | readonly (string | number)[];

/**
 * Associated data of a list of names: the count, then each length before its text, so no two lists look alike.
 * UTF-16, because UTF-8 would make one character of all lone surrogates.
 */
export function associated(names: readonly string[]): Buffer {
  const bytes = Buffer.allocUnsafe(names.reduce((sum, name) => sum + 4 + 2 * name.length, 4));
  let at = bytes.writeUInt32BE(names.length);
  for (const name of names) {
    at = bytes.writeUInt32BE(2 * name.length, at);
    at += bytes.write(name, at, "utf16le");
  }
  return bytes;
}

/** For messages. */
export function columnOf({ table, column, movedTo }: Place): string {
  return movedTo ?? `${table}.${column}`;
}

export function rowNames(row: RowKey): string[] {
  return typeof row === "object" ? row.map(String) : [String(row)];
}
