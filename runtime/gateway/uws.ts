import type * as Uws from "uWebSockets.js";
import { createRequire } from "node:module";
import { Failure } from "../../machines/failure.ts";

export type {
  HttpRequest,
  HttpResponse,
  TemplatedApp,
  us_listen_socket,
  us_socket_context_t,
  WebSocket,
} from "uWebSockets.js";

/** The native server could not be loaded; the message says why and what helps. */
export class NativeServerMissing extends Failure {
  readonly code = "native_server_missing";
  readonly retryable = false;
}

const require = createRequire(import.meta.url);

/** Loads uWebSockets.js. `require`, because a failing `import` could not be explained. */
export function loadUws(load: () => unknown = () => require("uWebSockets.js")): typeof Uws {
  try {
    return load() as typeof Uws;
  } catch (cause) {
    throw new NativeServerMissing(explain(), { cause });
  }
}

/** The file that `loadUws` loads on this machine. */
export function nativeFile(): string {
  const { platform, arch, versions } = process;
  return require.resolve(`uWebSockets.js/uws_${platform}_${arch}_${versions.modules}.node`);
}

function explain(): string {
  const here = `Node ${process.versions.node} on ${process.platform} ${process.arch}`;
  if (process.platform !== "linux")
    return `uWebSockets.js has no binary that loads with ${here}: use Node 20, 22 or 24`;
  const libc = glibcVersion();
  if (libc === undefined) return `uWebSockets.js needs a Linux with glibc (not musl, as in Alpine); this is ${here}`;
  return (
    `uWebSockets.js does not load with ${here} and glibc ${libc}. ` +
    "On glibc older than 2.38 only Node 20 and older load: use Node 20, or a newer Linux"
  );
}

function glibcVersion(): string | undefined {
  const { header } = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  return header?.glibcVersionRuntime;
}
