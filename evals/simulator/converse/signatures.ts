import { createHmac, timingSafeEqual } from "node:crypto";

/** What a genuine mark tells of the answer that it came with. */
export type Origin = { readonly answer: string };
export type ReasoningCheck = Origin | "foreign" | "changed";

/**
 * Signs reasoning and names calls, and recognises both later without storing any: the key depends on the seed alone. Both
 * tell which answer they belong to, so that reasoning on another answer's message is seen.
 */
export type ConverseSigner = {
  /** `salt` stands for the answer; `at` is the place in it. */
  sign(text: string, salt: string, at: number): string;
  /** Base64 of sealed reasoning. */
  seal(text: string, salt: string, at: number): string;
  toolUseId(salt: string, at: number): string;
  checkSigned(text: string, signature: string): ReasoningCheck;
  checkSealed(base64: string): ReasoningCheck;
  /** Undefined for an id that is not the simulator's. */
  originOf(toolUseId: string): Origin | undefined;
};

const TAG = 6;
const SHORT = 10;
const LONG = 32;
const ID_PREFIX = "tooluse_";

export function converseSigner(seed: number): ConverseSigner {
  const key = createHmac("sha256", "dormouse simulator converse").update(String(seed)).digest();
  const mac = (label: string, data: Buffer | string, size: number) =>
    createHmac("sha256", key).update(label).update(data).digest().subarray(0, size);
  const same = (a: Buffer, b: Buffer) => a.length === b.length && timingSafeEqual(a, b);

  /** Tag of the answer, place in it, a proof of both, and a proof of the content. */
  function mark(label: string, salt: string, at: number, content: string): Buffer {
    const head = Buffer.concat([mac("answer", salt, TAG), Buffer.of(at % 256)]);
    const proven = Buffer.concat([head, mac(label, head, SHORT)]);
    return Buffer.concat([proven, mac(`${label} content`, Buffer.concat([proven, Buffer.from(content)]), LONG)]);
  }
  function readMark(label: string, bytes: Buffer, content: string): ReasoningCheck {
    const head = bytes.subarray(0, TAG + 1);
    const proven = bytes.subarray(0, TAG + 1 + SHORT);
    if (bytes.length !== TAG + 1 + SHORT + LONG || !same(proven.subarray(TAG + 1), mac(label, head, SHORT)))
      return "foreign";
    const wanted = mac(`${label} content`, Buffer.concat([proven, Buffer.from(content)]), LONG);
    return same(bytes.subarray(proven.length), wanted) ? { answer: head.subarray(0, TAG).toString("hex") } : "changed";
  }
  function decoded(base64: string): Buffer {
    const bytes = Buffer.from(base64, "base64");
    return bytes.toString("base64") === base64 ? bytes : Buffer.alloc(0);
  }

  return {
    sign: (text, salt, at) => mark("signed", salt, at, text).toString("base64"),
    checkSigned: (text, signature) => readMark("signed", decoded(signature), text),
    seal(text, salt, at) {
      const hidden = mac("hidden", text, LONG).toString("base64");
      return Buffer.concat([mark("sealed", salt, at, hidden), Buffer.from(hidden)]).toString("base64");
    },
    checkSealed(base64) {
      const bytes = decoded(base64);
      const size = TAG + 1 + SHORT + LONG;
      return readMark("sealed", bytes.subarray(0, size), bytes.subarray(size).toString());
    },
    toolUseId(salt, at) {
      const head = Buffer.concat([mac("answer", salt, TAG), Buffer.of(at % 256)]);
      return `${ID_PREFIX}${Buffer.concat([head, mac("call", head, SHORT)]).toString("base64url")}`;
    },
    originOf(toolUseId) {
      if (!toolUseId.startsWith(ID_PREFIX)) return undefined;
      const bytes = Buffer.from(toolUseId.slice(ID_PREFIX.length), "base64url");
      const head = bytes.subarray(0, TAG + 1);
      if (bytes.length !== TAG + 1 + SHORT || !same(bytes.subarray(TAG + 1), mac("call", head, SHORT)))
        return undefined;
      return { answer: head.subarray(0, TAG).toString("hex") };
    },
  };
}
