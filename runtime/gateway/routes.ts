import { protocolSchema } from "../../machines/protocol/json-schema.ts";
import {
  type Answer,
  answering,
  type BodyHandler,
  type Handler,
  json,
  notFound,
  receiving,
  refusal,
} from "./answer.ts";
import { type StreamHandler, streaming } from "./event-stream.ts";
import { operatorCheck } from "./operator.ts";
import type { OriginCheck } from "./origin.ts";
import type { Login } from "./platform-login.ts";
import type { GatewayServices } from "./services.ts";
import { sessionRoutes } from "./session-routes.ts";
import { staticFiles } from "./static.ts";
import { uploadRoute } from "./upload-route.ts";
import type { TemplatedApp } from "./uws.ts";

type Method = "get" | "post" | "del";
/** `receive` is a POST that brings a body, `stream` one that is answered with a stream. */
type Methods = { readonly [M in Method]?: Handler } & {
  readonly receive?: BodyHandler;
  readonly stream?: StreamHandler;
};
type Route = { readonly pattern: string; readonly methods: Methods };

/** The HTTP routes of PROTOCOL.md, in one table. */
export function httpRoutes(
  services: GatewayServices,
  isAllowed: OriginCheck,
  isDraining: () => boolean,
  agui: StreamHandler,
): readonly Route[] {
  const sessions = sessionRoutes(services, isAllowed, isDraining);
  const isOperator = operatorCheck(services.operatorToken);
  const operator =
    (handle: Handler): Handler =>
    (request) =>
      isOperator(request.authorization) ? handle(request) : notFound();
  let protocol: Answer | undefined;

  return [
    { pattern: "/healthz", methods: { get: () => health(services) } },
    { pattern: "/readyz", methods: { get: () => readiness(services) } },
    { pattern: "/metrics", methods: { get: operator(async () => metricsText(await services.metrics())) } },
    { pattern: "/login", methods: { get: (request) => logIn(services.login, request.query.get("user")) } },
    { pattern: "/v1/protocol.json", methods: { get: () => (protocol ??= json(200, protocolSchema())) } },
    { pattern: "/v1/sessions", methods: { get: sessions.list, post: sessions.create } },
    { pattern: "/v1/sessions/:id", methods: { get: sessions.page, del: sessions.erase } },
    { pattern: "/v1/sessions/:id/uploads", methods: { receive: uploadRoute(services, isAllowed, isDraining) } },
    { pattern: "/v1/agui", methods: { stream: agui } },
    { pattern: "/v1/socket", methods: { get: () => refusal("invalid_request", "this is a WebSocket address") } },
    { pattern: "/v1/*", methods: { get: notFound } },
    { pattern: "/*", methods: { get: staticFiles(services.consoleDir) } },
  ];
}

/** HEAD is answered where GET is; any other method of a known address gets 405. */
export function register(app: TemplatedApp, routes: readonly Route[], { log }: Pick<GatewayServices, "log">): void {
  for (const { pattern, methods } of routes) {
    if (methods.get) {
      app.get(pattern, answering(log, methods.get));
      app.head(pattern, answering(log, methods.get));
    }
    if (methods.post) app.post(pattern, answering(log, methods.post));
    if (methods.receive) app.post(pattern, receiving(log, methods.receive));
    if (methods.stream) app.post(pattern, streaming(log, methods.stream));
    if (methods.del) app.del(pattern, answering(log, methods.del));
    const otherwise = pattern.endsWith("*") ? notFound : wrongMethod(methods);
    app.any(pattern, answering(log, otherwise));
  }
}

function wrongMethod(methods: Route["methods"]): Handler {
  const posts = methods.post ?? methods.receive ?? methods.stream;
  const names = [methods.get && "GET, HEAD", posts && "POST", methods.del && "DELETE"].filter(Boolean);
  const answer = refusal("method_not_allowed", "this address does not take that method");
  return () => ({ ...answer, headers: [...(answer.headers ?? []), ["Allow", names.join(", ")]] });
}

function health({ agent, simulated, login }: GatewayServices): Answer {
  return json(200, { alive: true, agent, simulated, demo_login: login !== undefined });
}

function readiness({ ready }: GatewayServices): Answer {
  const now = ready();
  return json(now.ready ? 200 : 503, now);
}

function metricsText(body: string): Answer {
  return { status: 200, headers: [["Content-Type", "text/plain; version=0.0.4; charset=utf-8"]], body };
}

async function logIn(login: Login | undefined, user: string | null): Promise<Answer> {
  if (login === undefined) return notFound();
  if (user === null || user === "") return refusal("invalid_request", "say who: /login?user=<id>");
  const done = await login(user);
  if (done === undefined) return refusal("not_found", "there is no such user");
  const cookies = done.setCookie.map((cookie) => ["Set-Cookie", cookie] as const);
  return { status: 303, headers: [["Location", "/"], ["Cache-Control", "no-store"], ...cookies] };
}
