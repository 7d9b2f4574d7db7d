import { isOfType } from "../../machines/conversation/media.ts";
import { isUuid, sessionId } from "../../machines/ids.ts";
import { isMediaType, MEDIA_TYPES } from "../../machines/protocol/uploads.ts";
import { type BodyHandler, json, notFound, refusal } from "./answer.ts";
import { identify } from "./caller.ts";
import type { OriginCheck } from "./origin.ts";
import { segment } from "./request.ts";
import type { GatewayServices } from "./services.ts";

type Services = Pick<GatewayServices, "conversations" | "authenticate" | "limits">;

/** `POST /v1/sessions/:id/uploads`: everything is checked that can be before the first byte of the body is taken. */
export function uploadRoute(services: Services, isAllowed: OriginCheck, isDraining: () => boolean): BodyHandler {
  const { conversations, authenticate, limits } = services;
  return async (request, body) => {
    if (!isAllowed(request.origin)) return refusal("origin_not_allowed", "this origin may not change anything");
    const who = await identify(request.cookie, authenticate);
    if (who.kind === "refused") return who.answer;
    const id = segment(request, 2);
    if (!isUuid(id)) return notFound();
    await conversations.check(sessionId(id), who.caller);
    if (isDraining()) return refusal("draining", "the server is stopping: try again in a moment");
    const mime = request.contentType;
    if (!isMediaType(mime)) return refusal("unsupported_media_type", `a file is one of ${MEDIA_TYPES.join(", ")}`);
    const content = await body.read(limits.upload_bytes);
    if (content.length === 0) return refusal("invalid_request", "the file is empty");
    if (!isOfType(mime, content)) return refusal("unsupported_media_type", `the file is not ${mime}, as it claims`);
    return json(201, { blob_id: await conversations.upload(sessionId(id), who.caller, mime, content) });
  };
}
