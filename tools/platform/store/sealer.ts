/**
 * Closes what may be sensitive before it is stored. `aad` binds the sealed bytes to their place: `open` throws when the bytes
 * or the place are not those of `seal`. The composition root supplies it from its key ring.
 */
export type Sealer = {
  seal(text: string, aad: string): Buffer;
  open(sealed: Buffer, aad: string): string;
};

/** An unambiguous name of one stored field. */
export const place = (table: string, column: string, ...row: readonly (string | number)[]): string =>
  JSON.stringify(["platform", table, column, ...row]);
