/** A process of the nonce test: key and count by arguments; on a line from stdin it seals, and writes the envelopes. */
import { once } from "node:events";
import { keyRing } from "../key-ring.ts";

const [, , keys = "", count = "0"] = process.argv;
const ring = keyRing(keys);
process.stdout.write("ready\n");
await once(process.stdin, "data");
process.stdin.destroy();
const sealed = Array.from({ length: Number(count) }, () => ring.seal("the same text", ["test"]));
process.stdout.write(Buffer.concat(sealed));
