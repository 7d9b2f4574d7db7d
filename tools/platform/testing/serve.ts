/** The platform as a process of its own, for tests that kill it. Prints its address as one line. */
import { startPlatform } from "../platform.ts";
import { keySealer } from "./sealer.ts";

const { DATABASE_URL = "", SEAL_KEY = "" } = process.env;
const platform = await startPlatform({
  databaseUrl: DATABASE_URL,
  seal: keySealer(Buffer.from(SEAL_KEY, "base64")),
});
process.stdout.write(`${platform.url}\n`);
