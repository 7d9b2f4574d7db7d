import { spawn } from "node:child_process";
import { once } from "node:events";

/** Ends what a test run started, also when the run itself is killed. */
export type Guard = {
  readonly watch: (pid: number) => void;
  readonly forget: (pid: number) => void;
  /** Ends every process still watched and every database below the folder, then removes the folder. */
  end(): Promise<void>;
};

/** A shell in its own process group that hears of every child and acts when our pipe ends: the kernel closes it too. */
const SCRIPT = `
  base=$1
  pids=" "
  while read -r word pid; do
    case $word in
      live) pids="$pids$pid " ;;
      gone) pids="\${pids%%" $pid "*} \${pids#*" $pid "}" ;;
    esac
  done
  for pid in $pids; do kill -KILL "$pid" 2>/dev/null; done
  for file in "$base"/*/postgres/data/postmaster.pid; do
    pid=$(head -n 1 "$file" 2>/dev/null) || continue
    kill -QUIT "$pid" 2>/dev/null
    tries=0
    while kill -0 "$pid" 2>/dev/null && [ "$tries" -lt 200 ]; do sleep 0.05; tries=$((tries + 1)); done
  done
  rm -rf -- "$base"`;

export function startGuard(folder: string): Guard {
  const shell = spawn("/bin/sh", ["-c", SCRIPT, "sh", folder], { stdio: ["pipe", "ignore", "ignore"], detached: true });
  const ended = once(shell, "exit");
  shell.unref();
  return {
    watch: (pid) => void shell.stdin.write(`live ${pid}\n`),
    forget: (pid) => void shell.stdin.write(`gone ${pid}\n`),
    async end() {
      shell.stdin.end();
      await ended;
    },
  };
}
