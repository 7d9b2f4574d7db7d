import { sessionOf } from "../agui/ids.ts";
import { readInput } from "../agui/run-input.ts";
import { type RunStream, tellRun } from "./agui-run.ts";
import { startRun } from "./agui-start.ts";
import { refusal } from "./answer.ts";
import { identify } from "./caller.ts";
import type { StreamHandler } from "./event-stream.ts";
import type { OriginCheck } from "./origin.ts";
import { type GatewayServices, RUN_INPUT_BYTES } from "./services.ts";
import type { Timers } from "./timers.ts";

type Services = Pick<GatewayServices, "conversations" | "authenticate" | "limits" | "log">;

/** `POST /v1/agui`: an AG-UI run input in, the events of its run out. What is wrong before the run is an HTTP error. */
export function aguiRoute(
  services: Services,
  isAllowed: OriginCheck,
  isDraining: () => boolean,
  timers: Timers,
  streams: Set<RunStream>,
): StreamHandler {
  const { conversations, authenticate } = services;
  return async (request, body) => {
    if (!isAllowed(request.origin)) return refusal("origin_not_allowed", "this origin may not change anything");
    const who = await identify(request.cookie, authenticate);
    if (who.kind === "refused") return who.answer;
    if (request.contentType !== "application/json")
      return refusal("unsupported_media_type", "a run input is application/json");
    const input = readInput(Buffer.from(await body.read(RUN_INPUT_BYTES)).toString("utf8"));
    if (input.kind === "refused") return refusal(input.code, input.message);
    if (isDraining()) return refusal("draining", "the server is stopping: try again in a moment");
    const { caller } = who;
    const id = await conversations.create(caller, sessionOf(input.run.threadId, caller.principal.userId));
    const started = await startRun(conversations, id, input.run, caller, services.limits);
    if (started.kind === "refused") return refusal(started.code, started.message);
    const { run } = started;
    return {
      open: (wire) => tellRun(wire, run, services, timers, streams),
      abandon: () => run.attachment.detach(),
    };
  };
}
