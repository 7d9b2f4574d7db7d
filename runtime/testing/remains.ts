/** Looks for words in everything that a server leaves behind. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { inflateRawSync, inflateSync } from "node:zlib";
import postgres from "postgres";

/** Where a word was found, as `<word> in <place>`; `words` are given by the name they are reported under. */
export type Words = Readonly<Record<string, string>>;

/** Every table of every schema: each row as text, and each byte string in it as bytes, also inflated. */
export async function findInDatabase(url: string, words: Words): Promise<{ rows: number; found: string[] }> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const found = new Set<string>();
  let rows = 0;
  try {
    const tables = await sql<{ name: string }[]>`
      select format('%I.%I', table_schema, table_name) as name from information_schema.tables
      where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`;
    for (const { name } of tables) {
      for (const { text } of await sql.unsafe<{ text: string }[]>(`select to_jsonb(t)::text as text from ${name} t`)) {
        rows += 1;
        const pieces = [Buffer.from(text), ...bytesIn(text).flatMap((bytes) => [bytes, ...inflated(bytes)])];
        for (const piece of pieces) for (const word of wordsIn(piece, words)) found.add(`${word} in ${name}`);
      }
    }
  } finally {
    await sql.end();
  }
  return { rows, found: [...found] };
}

/** Every file below a folder, as bytes. */
export function findInFiles(folder: string, words: Words): { files: number; found: string[] } {
  const found: string[] = [];
  let files = 0;
  if (!existsSync(folder)) return { files, found };
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    let bytes: Buffer;
    try {
      bytes = readFileSync(path);
    } catch (error) {
      // A running database removes files under our eyes.
      if ((error as NodeJS.ErrnoException).code === "ENOENT") continue;
      throw error;
    }
    files += 1;
    for (const word of wordsIn(bytes, words)) found.push(`${word} in ${path.slice(folder.length + 1)}`);
  }
  return { files, found };
}

/** As it is, and as base64 and hexadecimal would hide it. */
export function wordsIn(bytes: Buffer, words: Words): string[] {
  return Object.entries(words).flatMap(([name, word]) =>
    shapes(word).some((form) => bytes.includes(form)) ? [name] : [],
  );
}

function shapes(word: string): readonly string[] {
  const plain = Buffer.from(word);
  // In base64 a word looks different at each offset of three; its ends depend on the neighbours.
  const base64 = [0, 1, 2].map((offset) => {
    const padded = Buffer.concat([Buffer.alloc(offset), plain]).toString("base64url");
    return padded.slice(offset === 0 ? 0 : offset + 1, -4);
  });
  return [
    word,
    plain.toString("hex"),
    ...base64,
    ...base64.map((text) => text.replaceAll("-", "+").replaceAll("_", "/")),
  ];
}

const bytesIn = (text: string): Buffer[] =>
  [...text.matchAll(/\\\\x([0-9a-f]+)/g)].map(([, hex = ""]) => Buffer.from(hex, "hex"));

function inflated(bytes: Buffer): Buffer[] {
  return [inflateRawSync, inflateSync].flatMap((inflate) => {
    try {
      return [inflate(bytes)];
    } catch {
      return [];
    }
  });
}
