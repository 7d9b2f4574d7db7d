import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { MESSAGES_PER_KEY } from "./envelope.ts";
import { keyRing } from "./key-ring.ts";

const keys = `k1:${randomBytes(32).toString("base64")}`;
const PROCESSES = 4;
const SEALS = 12_500;

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

test("[H-07] 100,000 seals of one text by 4 processes, restarted in between: no nonce twice, no ciphertext twice", async () => {
  const envelopes = [...(await round()), ...(await round())];
  const head = 2 + "k1".length;
  const nonces = new Set(envelopes.map((envelope) => envelope.toString("hex", head, head + 12)));
  const bodies = new Set(envelopes.map((envelope) => envelope.toString("hex", head + 12)));
  expect([envelopes.length, nonces.size, bodies.size]).toEqual([100_000, 100_000, 100_000]);
  const [first = Buffer.alloc(0)] = envelopes;
  expect(keyRing(keys).open(first, ["test"])).toBe("the same text");
}, 60_000);

test("[H-07] the limit of messages per key is what random 96-bit nonces allow", () => {
  expect(MESSAGES_PER_KEY).toBe(4_294_967_296);
});

/** Starts the processes, lets them go at the same moment, and gives what they sealed. */
async function round(): Promise<Buffer[]> {
  const script = fileURLToPath(new URL("./testing/sealer.ts", import.meta.url));
  const started = Array.from({ length: PROCESSES }, () => {
    const args = ["--import", "tsx", script, keys, String(SEALS)];
    const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
    children.push(child);
    return child;
  });
  await Promise.all(started.map((child) => once(child.stdout, "data")));
  const outputs = started.map((child) => child.stdout.toArray());
  for (const child of started) child.stdin.write("go\n");
  const size = keyRing(keys).seal("the same text", ["test"]).length;
  return (await Promise.all(outputs)).flatMap((chunks) => slices(Buffer.concat(chunks), size));
}

function slices(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: bytes.length / size }, (_, index) => bytes.subarray(index * size, (index + 1) * size));
}
