/** The tools of `tools/*.gql`: schemas generated once, arguments checked, executed with graphql-js. */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { buildSchema, type DocumentNode, execute, type GraphQLSchema, parse, validate } from "graphql";
import { Refusal } from "../failures.ts";
import { readPlatformFile } from "../package-files.ts";
import type { CallContext } from "../resolvers.ts";
import { type GeneratedSchemas, generateSchemas, UnsuitableOperation } from "./schema-generator.ts";
import { TOOL_DEFINITIONS, type ToolDefinition } from "./tool-definitions.ts";

export type PlatformTool = ToolDefinition & GeneratedSchemas;
/** `failed` carries a short text for the model and, when it is our fault, the error for the log. */
export type CallOutcome =
  | { readonly kind: "result"; readonly value: Record<string, unknown> }
  | { readonly kind: "failed"; readonly text: string; readonly error?: unknown };

export type Toolbox = {
  /** The tools that exist for someone with these flags. */
  available(flags: readonly string[]): readonly PlatformTool[];
  call(tool: PlatformTool, args: unknown, context: CallContext): Promise<CallOutcome>;
};

type Prepared = { readonly document: DocumentNode; readonly isValid: ValidateFunction };

/** Reads every tool file. Throws `UnsuitableOperation` for one that does not fit the schema. */
export function toolbox(rootValue: object): Toolbox {
  const schema = buildSchema(readPlatformFile("schema.graphql"));
  const ajv = new Ajv2020({ strict: false, allErrors: false });
  const prepared = new Map<PlatformTool, Prepared>();
  for (const definition of TOOL_DEFINITIONS) {
    const document = readOperation(schema, definition.name);
    const tool = { ...definition, ...generateSchemas(schema, document) };
    prepared.set(tool, { document, isValid: ajv.compile(tool.input) });
  }

  return {
    available: (flags) => [...prepared.keys()].filter(({ flag }) => flag === undefined || flags.includes(flag)),

    async call(tool, args, contextValue) {
      const { document, isValid } = prepared.get(tool) ?? unknownTool(tool.name);
      if (!isValid(args)) return { kind: "failed", text: complaint(isValid) };
      const variableValues = args as Record<string, unknown>;
      const { data, errors } = await execute({ schema, document, rootValue, contextValue, variableValues });
      const value = data?.[tool.field];
      if (errors?.[0]) return failed(errors[0].originalError ?? errors[0]);
      // graphql-js makes objects without a prototype; a copy is plain JSON.
      return { kind: "result", value: JSON.parse(JSON.stringify(value)) as Record<string, unknown> };
    },
  };
}

function readOperation(schema: GraphQLSchema, name: string): DocumentNode {
  const document = parse(readPlatformFile(`tools/${name}.gql`));
  const [error] = validate(schema, document);
  if (error) throw new UnsuitableOperation(`tools/${name}.gql: ${error.message}`);
  return document;
}

function unknownTool(name: string): never {
  throw new TypeError(`${name} is not a tool of this toolbox`);
}

function failed(error: unknown): CallOutcome {
  if (error instanceof Refusal) return { kind: "failed", text: error.message };
  return { kind: "failed", text: "The platform could not do this just now.", error };
}

/** Names the place and the rule, never the value. */
function complaint({ errors }: ValidateFunction): string {
  const [first] = errors ?? [];
  const where = first?.instancePath ? first.instancePath.slice(1).replaceAll("/", ".") : "arguments";
  const extra = first?.keyword === "additionalProperties" ? ` (${String(first.params["additionalProperty"])})` : "";
  return `Wrong arguments: ${where} ${first?.message ?? "are not valid"}${extra}.`.slice(0, 300);
}
