import { expect, test } from "vitest";
import { asked, isTaken, StoreRefused, storeFailure } from "./database-error.ts";
import { StoreUnavailable } from "./store.ts";

const driverError = (code: string) =>
  Object.assign(new Error("value of a patient"), { code, detail: "Key (x)=(patient)", parameters: ["patient"] });

const passing = [
  "CONNECTION_CLOSED",
  "CONNECT_TIMEOUT",
  "ECONNREFUSED",
  "EPIPE",
  "EAI_AGAIN",
  "57P01",
  "40P01",
  "53300",
  "08006",
];
const staying = ["23505", "22021", "42P01", "28P01", "ERR_INVALID_ARG_TYPE", "UNDEFINED_VALUE"];

test.each(passing)("[DE1] %s passes: StoreUnavailable", (code) => {
  expect(storeFailure(driverError(code))).toBeInstanceOf(StoreUnavailable);
});

test.each(staying)("[DE1] %s stays: StoreRefused", (code) => {
  expect(storeFailure(driverError(code))).toBeInstanceOf(StoreRefused);
});

test("[DE2] of the driver's error only code and constraint are kept", async () => {
  const error = { ...driverError("23505"), constraint_name: "entries_pkey" };
  const failed = await asked(Promise.reject(error)).catch((failure: unknown) => failure);
  expect(isTaken(failed)).toBe(true);
  const { message, cause } = failed as StoreRefused;
  expect(message).toBe("the database refused a statement (database error 23505 at entries_pkey)");
  expect({ ...(cause as object) }).toEqual({ name: "DatabaseError", sqlstate: "23505", constraint: "entries_pkey" });
});

test("[DE3] a Failure passes as it is", () => {
  const failure = new StoreUnavailable(undefined);
  expect(storeFailure(failure)).toBe(failure);
});
