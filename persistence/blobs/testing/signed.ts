import { createHash, createHmac } from "node:crypto";
import type { IncomingMessage } from "node:http";

export type Credentials = { readonly accessKeyId: string; readonly secretAccessKey: string };

const hmac = (key: Buffer | string, text: string): Buffer => createHmac("sha256", key).update(text).digest();
const sha256 = (bytes: Buffer | string): string => createHash("sha256").update(bytes).digest("hex");
const encode = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

/**
 * Checks a request's Signature Version 4 as the S3 documentation describes it. Gives the error code that S3 answers with,
 * or undefined when the signature holds for exactly this method, path, query, headers and body.
 */
export function signatureProblem(request: IncomingMessage, body: Buffer, known: Credentials): string | undefined {
  const { method = "", url = "", headers } = request;
  const [, key, date, region, signed, signature] =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([a-z0-9-]+)\/s3\/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? "",
    ) ?? [];
  if (date === undefined || region === undefined || signed === undefined) return "AccessDenied";
  if (key !== known.accessKeyId) return "InvalidAccessKeyId";
  const payload = headers["x-amz-content-sha256"];
  if (typeof payload !== "string") return "MissingSecurityHeader";
  if (payload !== "UNSIGNED-PAYLOAD" && payload !== sha256(body)) return "XAmzContentSHA256Mismatch";
  const names = signed.split(";");
  if (!names.includes("host") || !names.includes("x-amz-date")) return "AccessDenied";
  const { pathname, searchParams } = new URL(url, "http://here");
  const query = [...searchParams].map(([name, value]) => `${encode(name)}=${encode(value)}`).sort();
  const canonical = [
    method,
    pathname,
    query.join("&"),
    ...names.map(
      (name) =>
        `${name}:${String(headers[name] ?? "")
          .trim()
          .replaceAll(/ +/g, " ")}`,
    ),
    "",
    signed,
    payload,
  ].join("\n");
  const at = String(headers["x-amz-date"]);
  const scope = `${date}/${region}/s3/aws4_request`;
  const text = ["AWS4-HMAC-SHA256", at, scope, sha256(canonical)].join("\n");
  const signingKey = [region, "s3", "aws4_request"].reduce(hmac, hmac(`AWS4${known.secretAccessKey}`, date));
  return hmac(signingKey, text).toString("hex") === signature ? undefined : "SignatureDoesNotMatch";
}
