import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { BlobsUnavailable, blobKey } from "./blob-store.ts";
import { s3Blobs } from "./s3-store.ts";
import { blobStoreContract, newBlobId, newSessionId } from "./testing/contract.ts";
import { type S3Server, s3Server } from "./testing/s3-server.ts";

const openOn = ({ url, bucket, credentials }: S3Server, prefix = "some/prefix") =>
  s3Blobs({ bucket, prefix, endpoint: url, credentials });

describe("a strict server", () => {
  blobStoreContract(async () => {
    const server = await s3Server();
    const store = openOn(server);
    return {
      store,
      async close() {
        store.close();
        await server.close();
        expect(server.refused.filter((code) => code !== "NoSuchKey")).toEqual([]);
      },
    };
  });
});

// The same contract on any server of your own, whose bucket exists, with the SDK's variables for the login.
const { S3_TEST_ENDPOINT: endpoint, S3_TEST_BUCKET: bucket } = process.env;
describe.skipIf(endpoint === undefined || bucket === undefined)("the server of S3_TEST_ENDPOINT", () => {
  blobStoreContract(async () => {
    const store = s3Blobs({ bucket: bucket ?? "", prefix: `test-${Date.now()}`, endpoint: endpoint ?? "" });
    return { store, close: async () => store.close() };
  });
});
if (endpoint === undefined) console.info("S3_TEST_ENDPOINT and S3_TEST_BUCKET are unset: no other S3 server is tested");

let server: S3Server;
let store: ReturnType<typeof s3Blobs>;
beforeAll(async () => {
  server = await s3Server();
  store = openOn(server);
});
beforeEach(() => {
  server.refused.length = 0;
});
afterAll(async () => {
  store.close();
  await server.close();
});

test("[BL9] keys lie below the prefix; without one they begin with the session", async () => {
  const bare = openOn(server, "/");
  const [one, other] = [blobKey(newSessionId(), newBlobId()), blobKey(newSessionId(), newBlobId())];
  await store.put(one, Buffer.from("1"));
  await bare.put(other, Buffer.from("2"));
  expect([...server.objects.keys()].sort()).toEqual([other, `some/prefix/${one}`].sort());
  bare.close();
});

test("[BL10] a passing fault is tried again, a lasting one is `unavailable` and names neither bucket nor address", async () => {
  const key = blobKey(newSessionId(), newBlobId());
  server.failures.push(500);
  await store.put(key, Buffer.from("x"));
  expect(server.refused).toEqual(["InternalError"]);
  server.failures.push(403);
  const failed = await store.get(key).catch((error: unknown) => error);
  expect(failed).toEqual(new BlobsUnavailable("read", Object.assign(new Error(), { name: "AccessDenied" })));
  expect(String(failed)).not.toMatch(/bucket-of|127\.0/);
});

test("[BL11] a wrong secret is refused by the server, and nothing of it shows", async () => {
  const { url, bucket, credentials } = server;
  const wrong = s3Blobs({
    bucket,
    prefix: "",
    endpoint: url,
    credentials: { ...credentials, secretAccessKey: "another-secret" },
  });
  const failed = await wrong.put(blobKey(newSessionId(), newBlobId()), Buffer.from("x")).catch((error) => error);
  expect([failed.message, server.refused]).toEqual([
    "attachments can't be stored right now (SignatureDoesNotMatch): see BLOBS_URL",
    ["SignatureDoesNotMatch"],
  ]);
  wrong.close();
});

test("[BL10] a server that is not there is `unavailable`", async () => {
  const gone = await s3Server();
  const lost = openOn(gone);
  await gone.close();
  await expect(lost.get(blobKey(newSessionId(), newBlobId()))).rejects.toThrow(
    "attachments can't be read right now (ECONNREFUSED): see BLOBS_URL",
  );
  lost.close();
});
