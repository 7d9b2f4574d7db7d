/** A process of the tests: starts a test server, tells its folder and its guard, then waits to be killed. */
import { startTestServer } from "./server.ts";

const { folder, guardPid } = await startTestServer();
process.stdout.write(`${JSON.stringify({ folder, guardPid })}\n`);
setInterval(() => {}, 1_000);
