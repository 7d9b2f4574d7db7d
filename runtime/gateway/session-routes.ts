import { isUuid, sessionId } from "../../machines/ids.ts";
import type { Caller } from "../sessions/conversations.ts";
import { type Answer, type Handler, json, notFound, refusal } from "./answer.ts";
import { identify } from "./caller.ts";
import type { OriginCheck } from "./origin.ts";
import { type ArrivedRequest, segment } from "./request.ts";
import type { GatewayServices } from "./services.ts";

type Services = Pick<GatewayServices, "conversations" | "authenticate">;
type ForCaller = (request: ArrivedRequest, caller: Caller) => Promise<Answer>;

export type SessionRoutes = Readonly<Record<"list" | "create" | "page" | "erase", Handler>>;

/** What a logged-in user may do with sessions over HTTP. Writing needs an allowed origin: the cookie travels by itself. */
export function sessionRoutes(services: Services, isAllowed: OriginCheck, isDraining: () => boolean): SessionRoutes {
  const { conversations, authenticate } = services;

  const byCookie =
    (handle: ForCaller): Handler =>
    async (request) => {
      const who = await identify(request.cookie, authenticate);
      return who.kind === "refused" ? who.answer : handle(request, who.caller);
    };
  const writing = (handle: ForCaller): Handler => {
    const next = byCookie(handle);
    return (request) =>
      isAllowed(request.origin) ? next(request) : refusal("origin_not_allowed", "this origin may not change anything");
  };

  return {
    list: byCookie(async (_request, caller) => json(200, { sessions: await conversations.list(caller) })),

    create: writing(async (_request, caller) => {
      if (isDraining()) return refusal("draining", "the server is stopping: try again in a moment");
      return json(201, { session_id: await conversations.create(caller) });
    }),

    page: byCookie(async (request, caller) => {
      const id = segment(request, 2);
      const before = request.query.get("before");
      if (!isUuid(id)) return notFound();
      if (before === null) return json(200, await conversations.page(sessionId(id), caller));
      if (!/^[1-9]\d{0,8}$/.test(before)) return refusal("invalid_request", "before is a whole number from 1");
      return json(200, await conversations.page(sessionId(id), caller, Number(before)));
    }),

    erase: writing(async (request, caller) => {
      const id = segment(request, 2);
      if (!isUuid(id)) return notFound();
      await conversations.erase(sessionId(id), caller);
      return { status: 204 };
    }),
  };
}
