import { execFileSync, spawnSync } from "node:child_process";
import { EmbeddedStartFailed } from "./failures.ts";

/** The unprivileged user that runs the server; undefined means "the user we are". */
export type Account = { readonly uid: number; readonly gid: number };

/** What our child processes see of the environment: none of our secrets, and no PG* variable of the operator's. */
export const BARE_ENVIRONMENT = { PATH: process.env["PATH"] ?? "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };

/** Spawn options that run a child as the account, from a folder that everybody can enter. */
export const runAs = (account: Account | undefined) => ({ cwd: "/", env: BARE_ENVIRONMENT, ...account });

/** The account for a new cluster: PostgreSQL refuses root, so root gets `postgres` (made when missing) or `nobody`. */
export function serverAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const account = lookUp("postgres") ?? (makeUser() ? lookUp("postgres") : undefined) ?? lookUp("nobody");
  if (account) return account;
  throw new EmbeddedStartFailed(
    "PostgreSQL refuses to run as root, and no user `postgres` exists or could be made: add one, or run as an ordinary user",
  );
}

/** Asks the system itself whether the account passes a shell test: modes, ACLs and mounts all count. */
export function accountCan(account: Account | undefined, script: string, ...args: string[]): boolean {
  const options = { ...runAs(account), stdio: "ignore" as const };
  return spawnSync("/bin/sh", ["-c", script, "sh", ...args], options).status === 0;
}

function lookUp(name: string): Account | undefined {
  try {
    const id = (flag: string) =>
      Number(execFileSync("id", [flag, name], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }));
    const account = { uid: id("-u"), gid: id("-g") };
    return account.uid > 0 ? account : undefined;
  } catch {
    return undefined;
  }
}

/** Tries the tools of Debian and Red Hat, then BusyBox's. */
function makeUser(): boolean {
  const attempts = [
    [["useradd", "--system", "--user-group", "--no-create-home", "--shell", "/usr/sbin/nologin", "postgres"]],
    [
      ["addgroup", "-S", "postgres"],
      ["adduser", "-S", "-D", "-H", "-s", "/sbin/nologin", "-G", "postgres", "postgres"],
    ],
  ];
  return attempts.some((commands) =>
    commands.every(([command = "", ...args]) => spawnSync(command, args, { stdio: "ignore" }).status === 0),
  );
}
