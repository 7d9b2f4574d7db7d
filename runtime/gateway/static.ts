import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname, join, relative, sep } from "node:path";
import type { Answer, Handler } from "./answer.ts";
import { notFound } from "./answer.ts";

type Asset = { readonly body: Buffer; readonly type: string; readonly etag: string; readonly caching: string };

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".map": "application/json; charset=utf-8",
  ".txt": "text/plain; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".webp": "image/webp",
  ".woff2": "font/woff2",
  ".webmanifest": "application/manifest+json",
};

/** Nothing from elsewhere: own scripts, styles and images, own socket. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

const NOT_BUILT = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Dormouse</title>
<p>The console is not built yet. Run <code>npm run build</code> in the project's folder, then reload this page.
<p>The server itself works: <code>npm run chat</code> talks to it from a terminal.</html>`;

/**
 * Serves the files of one folder from memory; `/` is its `index.html`. Only names that exist are served, so no path can
 * lead out. A folder that is not there is looked for again at each visit of `/`.
 */
export function staticFiles(folder: string): Handler {
  let loading = load(folder);
  return async (request) => {
    const isIndex = request.path === "/";
    if (isIndex && !(await loading).has("/index.html")) loading = load(folder);
    const asset = (await loading).get(isIndex ? "/index.html" : request.path);
    if (asset !== undefined) return serve(asset, request.ifNoneMatch);
    return isIndex ? page(404, NOT_BUILT) : notFound();
  };
}

function serve({ body, type, etag, caching }: Asset, ifNoneMatch: string): Answer {
  const validators = [
    ["ETag", etag],
    ["Cache-Control", caching],
  ] as const;
  if (ifNoneMatch.split(",").some((tag) => tag.trim() === etag)) return { status: 304, headers: validators };
  return { status: 200, headers: [...validators, ["Content-Type", type], ["Content-Security-Policy", POLICY]], body };
}

function page(status: number, body: string): Answer {
  const headers = [
    ["Content-Type", "text/html; charset=utf-8"],
    ["Content-Security-Policy", POLICY],
    ["Cache-Control", "no-store"],
  ] as const;
  return { status, headers, body };
}

async function load(folder: string): Promise<ReadonlyMap<string, Asset>> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const assets = files.map(async (file): Promise<[string, Asset]> => {
    const name = `/${relative(folder, file).split(sep).join("/")}`;
    const body = await readFile(file);
    const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 24)}"`;
    // The build puts a digest into the names under assets/: such a file never changes.
    const caching = name.startsWith("/assets/") ? "public, max-age=31536000, immutable" : "no-cache";
    return [name, { body, etag, caching, type: TYPES[extname(name)] ?? "application/octet-stream" }];
  });
  return new Map(await Promise.all(assets));
}
