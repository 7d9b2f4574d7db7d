declare const brand: unique symbol;
type Id<Name extends string> = string & { readonly [brand]: Name };

export type SessionId = Id<"session">;
export type TurnId = Id<"turn">;
export type CommandId = Id<"command">;
export type CallId = Id<"call">;
export type BlockId = Id<"block">;
export type BlobId = Id<"blob">;
export type InteractionId = Id<"interaction">;
export type NodeId = Id<"node">;
export type UserId = Id<"user">;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

function uuid<Name extends string>(name: Name, text: string): Id<Name> {
  if (!UUID.test(text)) throw new TypeError(`not a ${name} id`);
  return text as Id<Name>;
}

/** Each constructor takes a lower-case uuid and throws a `TypeError` for anything else. */
export const sessionId = (text: string): SessionId => uuid("session", text);
export const turnId = (text: string): TurnId => uuid("turn", text);
export const commandId = (text: string): CommandId => uuid("command", text);
export const blockId = (text: string): BlockId => uuid("block", text);
export const blobId = (text: string): BlobId => uuid("blob", text);
export const interactionId = (text: string): InteractionId => uuid("interaction", text);
export const nodeId = (text: string): NodeId => uuid("node", text);

function name<Name extends string>(kind: Name, text: string): Id<Name> {
  if (text.length === 0 || text.length > 200) throw new TypeError(`a ${kind} id has 1 to 200 characters`);
  return text as Id<Name>;
}

/** A call id is ours, made when the model's answer is read: valid for every provider, 1–64 of `[A-Za-z0-9_-]`. */
export const callId = (text: string): CallId => name("call", text);
/** What the platform calls its user. */
export const userId = (text: string): UserId => name("user", text);
