import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  NoSuchKey,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import type { SessionId } from "../../machines/ids.ts";
import { type BlobKey, type BlobStore, BlobsUnavailable, sessionFolder } from "./blob-store.ts";

export type S3Options = {
  readonly bucket: string;
  /** Before every key, without slashes around it; may be empty. */
  readonly prefix: string;
  /** Another server than AWS; buckets are then addressed by path. */
  readonly endpoint?: string;
  /** Absent: as the SDK finds it. */
  readonly region?: string;
  /** Absent: as the SDK finds them. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
};

const CONNECT_MS = 5_000;
const ANSWER_MS = 30_000;
const REMOVALS_AT_ONCE = 8;

/** Blobs in a bucket of S3 or of a server that speaks its API. `close` lets go of the connections. */
export function s3Blobs(options: S3Options): BlobStore & { close(): void } {
  const { bucket: Bucket, prefix, endpoint, region, credentials } = options;
  const client = new S3Client({
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    // Other servers than AWS take any region, but a signature has to name one.
    ...((region ?? endpoint) !== undefined && { region: region ?? "us-east-1" }),
    ...(credentials && { credentials }),
    // The sealed bytes prove themselves; checksums in trailers are what other servers stumble over.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      requestTimeout: ANSWER_MS,
      // Without this a time-out only warns; the second bounds a body that stalls.
      throwOnRequestTimeout: true,
      socketTimeout: ANSWER_MS,
    },
  });
  const within = prefix.replaceAll(/^\/+|\/+$/g, "");
  const folder = within === "" ? "" : `${within}/`;
  const asked = async <T>(doing: string, work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw new BlobsUnavailable(doing, error);
    }
  };
  const removeKey = (Key: string) => client.send(new DeleteObjectCommand({ Bucket, Key }));

  return {
    put: (key, sealed) =>
      asked("stored", async () => {
        const ContentType = "application/octet-stream";
        await client.send(new PutObjectCommand({ Bucket, Key: folder + key, Body: sealed, ContentType }));
      }),

    get: (key: BlobKey) =>
      asked("read", async () => {
        try {
          const { Body } = await client.send(new GetObjectCommand({ Bucket, Key: folder + key }));
          return await Body?.transformToByteArray();
        } catch (error) {
          if (error instanceof NoSuchKey) return undefined;
          throw error;
        }
      }),

    remove: (key) => asked("removed", async () => void (await removeKey(folder + key))),

    removeAll: (session: SessionId) =>
      asked("removed", async () => {
        const keys: string[] = [];
        let ContinuationToken: string | undefined;
        do {
          const page = await client.send(
            new ListObjectsV2Command({
              Bucket,
              Prefix: folder + sessionFolder(session),
              ...(ContinuationToken !== undefined && { ContinuationToken }),
            }),
          );
          keys.push(...(page.Contents ?? []).flatMap(({ Key }) => Key ?? []));
          ContinuationToken = page.IsTruncated === true ? page.NextContinuationToken : undefined;
        } while (ContinuationToken !== undefined);
        // One by one: the request that removes many needs a checksum that not every server takes.
        while (keys.length > 0) await Promise.all(keys.splice(0, REMOVALS_AT_ONCE).map(removeKey));
      }),

    close: () => client.destroy(),
  };
}
