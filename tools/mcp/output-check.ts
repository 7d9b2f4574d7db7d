import type { JsonSchemaValidator, jsonSchemaValidator } from "@modelcontextprotocol/sdk/validation";
import { checkFor } from "../schemas.ts";

/** What does not fit in a structured result, in a few words; undefined when all does. */
export function outputMismatch(schema: Readonly<Record<string, unknown>>, value: unknown): string | undefined {
  const check = checkFor(schema);
  const [first] = check === "unusable" ? [] : check(value);
  return first === undefined ? undefined : `${first.instancePath || "(result)"} ${first.message ?? "does not fit"}`;
}

/**
 * One validator for all MCP clients: a client of its own would compile every output schema anew with each connection. It accepts
 * everything, because the SDK throws a result away that does not fit; we use such a result and report it (`output_mismatch`).
 */
export const outputValidator: jsonSchemaValidator = {
  getValidator<T>(): JsonSchemaValidator<T> {
    return (input) => ({ valid: true, data: input as T, errorMessage: undefined });
  },
};
