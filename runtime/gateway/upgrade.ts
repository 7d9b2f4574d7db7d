import { isUuid, type SessionId, sessionId } from "../../machines/ids.ts";
import type { Caller } from "../sessions/conversations.ts";
import { type Answer, failureAnswer, notFound, refusal } from "./answer.ts";
import { identify } from "./caller.ts";
import type { OriginCheck } from "./origin.ts";
import type { GatewayServices } from "./services.ts";
import type { Seat } from "./socket.ts";
import type { HttpRequest } from "./uws.ts";

export const SUB_PROTOCOL = "dormouse.v1";

/** What an upgrade request said. Read at once: the native request is gone after the first `await`. */
export type Hello = {
  readonly key: string;
  readonly extensions: string;
  readonly protocols: readonly string[];
  readonly origin: string;
  readonly cookie: string;
  readonly session: string | undefined;
  readonly after: string | undefined;
};

export type Verdict =
  | { readonly kind: "seated"; readonly seat: Seat }
  | { readonly kind: "refused"; readonly answer: Answer };

export function readHello(req: HttpRequest): Hello {
  const query = new URLSearchParams(req.getQuery());
  return {
    key: req.getHeader("sec-websocket-key"),
    extensions: req.getHeader("sec-websocket-extensions"),
    protocols: req
      .getHeader("sec-websocket-protocol")
      .split(",")
      .map((name) => name.trim()),
    origin: req.getHeader("origin"),
    cookie: req.getHeader("cookie"),
    session: query.get("session") ?? undefined,
    after: query.get("after") ?? undefined,
  };
}

type Services = Pick<GatewayServices, "conversations" | "authenticate" | "log">;

/** Decides on an upgrade. The cookie goes nowhere before the origin has passed. Never rejects. */
export async function judge(
  hello: Hello,
  services: Services,
  isAllowed: OriginCheck,
  isDraining: () => boolean,
): Promise<Verdict> {
  const refused = (answer: Answer): Verdict => ({ kind: "refused", answer });
  const draining = () => refused(refusal("draining", "the server is stopping: connect again in a moment"));
  if (!hello.protocols.includes(SUB_PROTOCOL))
    return refused(refusal("invalid_request", `offer the sub-protocol ${SUB_PROTOCOL}`));
  if (!isAllowed(hello.origin)) return refused(refusal("origin_not_allowed", "this origin may not connect"));
  if (hello.after !== undefined && !/^\d{1,15}$/.test(hello.after))
    return refused(refusal("invalid_request", "after is a whole number"));
  if (hello.session !== undefined && !isUuid(hello.session)) return refused(notFound());
  if (isDraining()) return draining();
  try {
    const who = await identify(hello.cookie, services.authenticate);
    if (who.kind === "refused") return who;
    const id = await findSession(hello.session, who.caller, services);
    if (isDraining()) return draining();
    const after = hello.after === undefined ? {} : { after: Number(hello.after) };
    return { kind: "seated", seat: { sessionId: id, caller: who.caller, ...after } };
  } catch (error) {
    return refused(failureAnswer(error, services.log, "/v1/socket"));
  }
}

async function findSession(asked: string | undefined, caller: Caller, { conversations }: Services): Promise<SessionId> {
  if (asked === undefined) return conversations.create(caller);
  const id = sessionId(asked);
  await conversations.check(id, caller);
  return id;
}
