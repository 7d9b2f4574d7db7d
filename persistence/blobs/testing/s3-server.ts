import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Credentials, signatureProblem } from "./signed.ts";

export type S3Server = {
  readonly url: string;
  readonly bucket: string;
  readonly credentials: Credentials;
  /** What lies in the bucket, by key. */
  readonly objects: Map<string, Buffer>;
  /** Codes of what was refused. */
  readonly refused: string[];
  /** Status that the next requests get instead of an answer, first one first. */
  readonly failures: number[];
  close(): Promise<void>;
};

/** Small, so that a handful of objects has several pages. */
const PAGE = 2;

/**
 * One bucket over HTTP with the part of the S3 API that a blob store needs: path style, whole objects, lists in pages.
 * Strict: a signature that does not hold, a body in chunks of AWS's own, or a request of another kind is refused.
 */
export async function s3Server(): Promise<S3Server> {
  const bucket = "bucket-of-a-test";
  const credentials: Credentials = { accessKeyId: "AKIDTEST", secretAccessKey: "secret-of-a-test" };
  const objects = new Map<string, Buffer>();
  const refused: string[] = [];
  const failures: number[] = [];

  const refuse = (response: ServerResponse, status: number, code: string): void => {
    refused.push(code);
    xml(response, status, `<Error><Code>${code}</Code><Message>refused by the test's server</Message></Error>`);
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await bodyOf(request);
    const failure = failures.shift();
    if (failure !== undefined) return refuse(response, failure, failure === 403 ? "AccessDenied" : "InternalError");
    const problem = signatureProblem(request, body, credentials);
    if (problem !== undefined) return refuse(response, 403, problem);
    if (String(request.headers["content-encoding"] ?? "").includes("aws-chunked"))
      return refuse(response, 501, "NotImplemented");
    const { pathname, searchParams } = new URL(request.url ?? "", "http://here");
    const [, name, ...rest] = pathname.split("/").map(decodeURIComponent);
    if (name !== bucket) return refuse(response, 404, "NoSuchBucket");
    const key = rest.join("/");
    if (key === "" && request.method === "GET" && searchParams.get("list-type") === "2")
      return list(response, searchParams);
    if (key === "") return refuse(response, 501, "NotImplemented");
    switch (request.method) {
      case "PUT":
        if (body.length !== Number(request.headers["content-length"])) return refuse(response, 400, "IncompleteBody");
        objects.set(key, body);
        response.writeHead(200, { etag: '"e"' }).end();
        return;
      case "GET": {
        const found = objects.get(key);
        if (found === undefined) return refuse(response, 404, "NoSuchKey");
        response.writeHead(200, { "content-type": "application/octet-stream", "content-length": found.length });
        response.end(found);
        return;
      }
      case "DELETE":
        objects.delete(key);
        response.writeHead(204).end();
        return;
      default:
        return refuse(response, 501, "NotImplemented");
    }
  };

  const list = (response: ServerResponse, query: URLSearchParams): void => {
    const prefix = query.get("prefix") ?? "";
    const after = Buffer.from(query.get("continuation-token") ?? "", "base64url").toString();
    const all = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
    const page = all.slice(0, PAGE);
    const more = all.length > page.length;
    const token = more ? Buffer.from(page.at(-1) ?? "").toString("base64url") : "";
    xml(
      response,
      200,
      `<ListBucketResult><Name>${bucket}</Name><Prefix>${prefix}</Prefix><KeyCount>${page.length}</KeyCount><IsTruncated>${more}</IsTruncated>${
        more ? `<NextContinuationToken>${token}</NextContinuationToken>` : ""
      }${page.map((key) => `<Contents><Key>${key}</Key><Size>1</Size></Contents>`).join("")}</ListBucketResult>`,
    );
  };

  const server = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    bucket,
    credentials,
    objects,
    refused,
    failures,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function xml(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { "content-type": "application/xml" });
  response.end(`<?xml version="1.0" encoding="UTF-8"?>\n${body}`);
}
