import { randomUUID } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DataDirInUse, EmbeddedStartFailed } from "./failures.ts";
import { isRunning, markOf, type ProcessMark } from "./process-mark.ts";

type Holder = ProcessMark & { readonly token: string };

export type OwnerLock = {
  /** Synchronous, so that it also works while the process exits. Does nothing the second time. */
  release(): void;
};

/**
 * Makes this process the only owner of a data folder, by `<folder>/owner.json`, or throws `DataDirInUse`.
 *
 * A lock whose holder is dead is replaced, but only by the one process that holds the claim on succeeding that very
 * holder; the claim is a lock of the same kind. So of any number that start at once, also over a dead one, one wins.
 */
export function lockFolder(folder: string): OwnerLock {
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  const me: Holder = { ...markOf(process.pid), token: randomUUID() };
  acquire(folder, "owner.json", me);
  return { release: () => releaseLock(folder, "owner.json", me) };
}

function acquire(folder: string, name: string, me: Holder): void {
  const path = join(folder, name);
  for (;;) {
    if (publish(path, me, linkSync)) return;
    const holder = read(path);
    if (holder === undefined) continue;
    if (isRunning(holder)) throw new DataDirInUse(folder, holder.pid);

    const claim = `owner.${holder.token}.claim`;
    acquire(folder, claim, me);
    try {
      // Whoever claimed before us may have succeeded this holder already.
      if (read(path)?.token === holder.token && publish(path, me, renameSync)) return;
    } finally {
      releaseLock(folder, claim, me);
    }
  }
}

function releaseLock(folder: string, name: string, me: Holder): void {
  const path = join(folder, name);
  if (read(path)?.token === me.token) rmSync(path, { force: true });
}

/** Puts a file that is written in full into place; false when `move` found one there. */
function publish(path: string, me: Holder, move: (from: string, to: string) => void): boolean {
  const draft = `${path}.${randomUUID()}`;
  writeFileSync(draft, JSON.stringify(me), { flag: "wx", mode: 0o644 });
  try {
    move(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function read(path: string): Holder | undefined {
  try {
    const holder = JSON.parse(readFileSync(path, "utf8")) as Partial<Holder> | null;
    if (typeof holder?.pid === "number" && typeof holder.token === "string") {
      return { pid: holder.pid, started: holder.started ?? null, token: holder.token };
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new EmbeddedStartFailed(
    `${path} is damaged: make sure that no Dormouse uses this folder, then remove the file`,
  );
}
