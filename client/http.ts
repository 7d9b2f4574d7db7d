import { z } from "zod";
import { sessionStatus, stateSchema, turnSchema } from "../machines/protocol/turns.ts";
import { HttpRefused, Unreachable } from "./errors.ts";

const summary = z.object({
  session_id: z.uuid(),
  title: z.string().nullable(),
  status: sessionStatus,
  updated_at: z.string(),
  pending_interaction: z.unknown(),
});
const listAnswer = z.object({ sessions: z.array(summary) });
const createAnswer = z.object({ session_id: z.uuid() });
const uploadAnswer = z.object({ blob_id: z.uuid() });
const pageAnswer = z.object({
  session_id: z.uuid(),
  turns: z.array(turnSchema),
  state: stateSchema,
  seq: z.int().min(0),
  before: z.int().optional(),
});
const refusal = z.object({ error: z.object({ code: z.string(), message: z.string() }) });

export type SessionSummary = z.infer<typeof summary>;
export type SessionPage = z.infer<typeof pageAnswer>;

type Answer = { readonly status: number; readonly ok: boolean; json(): Promise<unknown> };
/** What is used of `fetch`. */
export type Fetch = (
  url: string,
  init: { method: string; headers: Record<string, string>; body?: Blob },
) => Promise<Answer>;

export interface SessionsApi {
  /** The caller's sessions, newest first. */
  list(): Promise<readonly SessionSummary[]>;
  /** Gives the new session's id. */
  create(): Promise<string>;
  /** The newest 20 turns, or those before turn `before`. */
  page(session: string, before?: number): Promise<SessionPage>;
  /** Uploads a file of an allowed type for a message of this session; gives the id to attach it by. */
  upload(session: string, file: Blob): Promise<string>;
  /** Erases everything of a session. */
  erase(session: string): Promise<void>;
  /** The bare status of a session's page, for `ConnectOptions.probe`. */
  probe(session?: string): Promise<number>;
}

/** The HTTP side of a session. Every method may reject with `HttpRefused` or `Unreachable`. */
export function sessionsApi(url: string, fetch: Fetch, headers: Record<string, string> = {}): SessionsApi {
  const base = `${url.replace(/\/+$/, "")}/v1/sessions`;

  async function ask(method: string, path: string, body?: Blob): Promise<Answer> {
    const typed = body === undefined ? { headers } : { headers: { ...headers, "content-type": body.type }, body };
    try {
      return await fetch(`${base}${path}`, { method, ...typed });
    } catch (cause) {
      throw new Unreachable(`no answer from ${url}`, { cause });
    }
  }

  async function must<T>(method: string, path: string, schema: z.ZodType<T>, sent?: Blob): Promise<T> {
    const answer = await ask(method, path, sent);
    const body: unknown = await answer.json().catch(() => undefined);
    if (!answer.ok) throw refused(answer.status, body);
    const read = schema.safeParse(body);
    if (!read.success) throw new Unreachable(`what answers at ${url} is not Dormouse`, { cause: read.error });
    return read.data;
  }

  return {
    list: async () => (await must("GET", "", listAnswer)).sessions,
    create: async () => (await must("POST", "", createAnswer)).session_id,
    page: (session, before) => must("GET", `/${session}${before === undefined ? "" : `?before=${before}`}`, pageAnswer),
    upload: async (session, file) => (await must("POST", `/${session}/uploads`, uploadAnswer, file)).blob_id,
    erase: async (session) => void (await must("DELETE", `/${session}`, z.unknown())),
    probe: async (session) => (await ask("GET", session === undefined ? "" : `/${session}`)).status,
  };
}

function refused(status: number, body: unknown): HttpRefused {
  const read = refusal.safeParse(body);
  if (read.success) return new HttpRefused(status, read.data.error.code, read.data.error.message);
  return new HttpRefused(status, `http_${status}`, `the server answered with status ${status}`);
}
