import { createHash, randomUUID } from "node:crypto";
import {
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Account, accountCan, serverAccount } from "./account.ts";
import { EmbeddedStartFailed } from "./failures.ts";

/** Where a cluster lives and who runs it. `note` is one line for the operator when that is not the data folder. */
export type Place = { readonly home: string; readonly account: Account | undefined; readonly note?: string };

/** Folders for what the server's user cannot reach elsewhere; the first that can be made and entered is used. */
export const SHELTERS: readonly string[] = ["/var/lib/dormouse", join(tmpdir(), "dormouse-root"), "/tmp/dormouse-root"];

const CAN_WRITE = 'cd -- "$1" && test -w .';

/** Decides for a data folder (its real path) that this process has locked. The answer is the same at every start. */
export function placeFor(dataDir: string, shelters: readonly string[] = SHELTERS): Place {
  const home = join(dataDir, "postgres");
  if (process.getuid?.() !== 0) return { home: ownHome(home), account: undefined };

  const pointer = join(dataDir, "postgres.elsewhere");
  if (existsSync(pointer)) return returnTo(readFileSync(pointer, "utf8").trim(), dataDir);

  const account = existsSync(join(home, "data")) ? ownerOf(home) : serverAccount();
  makeHome(home, account);
  if (accountCan(account, CAN_WRITE, home)) return { home, account };
  if (existsSync(join(home, "data"))) {
    throw new EmbeddedStartFailed(
      `the user that owns ${home} cannot enter it: give it search permission on every parent folder`,
    );
  }
  rmdirSync(home);
  return moveOut(dataDir, account, pointer, shelters);
}

/** The first folder for copies and exiled data: root's own, so that nobody else can put programs there. */
export function shelterFor(account: Account | undefined, shelters: readonly string[] = SHELTERS): string {
  for (const shelter of shelters) {
    try {
      mkdirSync(shelter, { recursive: true, mode: 0o755 });
    } catch {
      // Read-only or missing mount: the next one may do.
      continue;
    }
    const { uid, mode } = lstatSync(shelter);
    const isPrivate = uid === process.getuid?.() && (mode & 0o022) === 0 && lstatSync(shelter).isDirectory();
    if (isPrivate && accountCan(account, 'cd -- "$1"', shelter)) return shelter;
  }
  throw new EmbeddedStartFailed(
    `no folder can be reached by the user that runs PostgreSQL (tried ${shelters.join(", ")}): set DATA_DIR to one that every user may enter`,
  );
}

function ownHome(home: string): string {
  try {
    mkdirSync(home, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new EmbeddedStartFailed(`${home} cannot be made: ${(cause as Error).message}`, { cause });
  }
  if (lstatSync(home).uid === process.getuid?.()) return home;
  throw new EmbeddedStartFailed(
    `${home} belongs to another user: run as that user, or set DATA_DIR to a folder of your own`,
  );
}

/** PostgreSQL insists on owning its files: what an ordinary user made before, root goes on with as that user. */
function ownerOf(home: string): Account | undefined {
  const { uid, gid } = lstatSync(home);
  return uid === 0 ? serverAccount() : { uid, gid };
}

function makeHome(home: string, account: Account | undefined): void {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  if (account && lstatSync(home).isDirectory()) chownSync(home, account.uid, account.gid);
}

function moveOut(dataDir: string, account: Account | undefined, pointer: string, shelters: readonly string[]): Place {
  const name = createHash("sha256").update(dataDir).digest("hex").slice(0, 16);
  const home = join(shelterFor(account, shelters), name);
  // The pointer died with an earlier data folder of this path, and so did its keys: never mix the two.
  if (existsSync(home)) renameSync(home, `${home}.left-${randomUUID()}`);
  makeHome(home, account);
  writeFileSync(pointer, `${home}\n`, { mode: 0o644 });
  return { home, account, note: noteOf(dataDir, home) };
}

function returnTo(home: string, dataDir: string): Place {
  if (existsSync(home)) return { home, account: ownerOf(home), note: noteOf(dataDir, home) };
  throw new EmbeddedStartFailed(
    `the data of ${dataDir} are in ${home}, which is gone: restore it, or remove ${dataDir} to begin anew`,
  );
}

function noteOf(dataDir: string, home: string): string {
  return `PostgreSQL's user cannot enter ${dataDir}; the database is in ${home}`;
}
