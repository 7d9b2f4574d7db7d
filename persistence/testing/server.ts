import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Account, accountCan, serverAccount } from "../embedded/account.ts";
import { binariesFor } from "../embedded/binaries.ts";
import { addressOf, createCluster, launch } from "../embedded/cluster.ts";
import { markOf } from "../embedded/process-mark.ts";
import { TEST_SETTINGS } from "../embedded/settings.ts";
import { PREFIX, sweep } from "./sweep.ts";

export type TestServer = {
  readonly url: string;
  readonly folder: string;
  readonly guardPid: number;
  stop(): Promise<void>;
};

/** A throw-away server in a folder of its own. It ends with this process, however that ends. */
export async function startTestServer(): Promise<TestServer> {
  const account = serverAccount();
  const base = reachableBase(account);
  await sweep(base);

  const folder = await mkdtemp(join(base, PREFIX));
  const { pid: guardPid, stop } = guard(folder);
  try {
    await writeFile(join(folder, "owner.json"), JSON.stringify(markOf(process.pid)));
    await chmod(folder, 0o711);
    const home = join(folder, "home");
    await mkdir(home, { mode: 0o700 });
    if (account) await chown(home, account.uid, account.gid);
    const cluster = { bin: binariesFor(account, () => folder), home, account };
    await createCluster(cluster, "no-sync");
    const { port } = await launch(cluster, TEST_SETTINGS);
    return { url: await addressOf(cluster, port, "postgres"), folder, guardPid, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Root's own temporary folder may be closed to the user that runs the server. */
function reachableBase(account: Account | undefined): string {
  const bases = [tmpdir(), "/tmp", "/var/tmp"];
  return bases.find((base) => accountCan(account, 'cd -- "$1"', base)) ?? tmpdir();
}

/**
 * A shell in its own process group that waits for the end of our pipe, then ends the server and removes the folder:
 * the kernel closes the pipe also when this process crashes or is killed.
 */
function guard(folder: string): { readonly pid: number; stop(): Promise<void> } {
  const script = `
    read -r _
    pid=$(head -n 1 "$1/home/data/postmaster.pid" 2>/dev/null) && kill -QUIT "$pid" 2>/dev/null
    tries=0
    while [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null && [ "$tries" -lt 200 ]; do sleep 0.05; tries=$((tries + 1)); done
    rm -rf -- "$1"`;
  const shell = spawn("/bin/sh", ["-c", script, "sh", folder], { stdio: ["pipe", "ignore", "ignore"], detached: true });
  const ended = once(shell, "exit");
  shell.unref();
  const stop = async () => {
    shell.stdin.end();
    await ended;
  };
  return { pid: shell.pid ?? 0, stop };
}
