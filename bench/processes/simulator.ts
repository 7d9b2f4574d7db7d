/** The simulated model as a process of its own. Tells the requests it got to the bench that asks. */
import { startSimulator } from "../../evals/simulator/simulator.ts";
import { endWith } from "./child.ts";

const simulator = await startSimulator();
process.on("message", () => process.send?.(simulator.requests().map(({ body }) => body)));
endWith(() => simulator.close());
process.stdout.write(`simulator ${simulator.url}\n`);
