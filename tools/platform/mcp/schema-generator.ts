/**
 * JSON Schema from a GraphQL operation: input from its variables, output from what it selects.
 *
 * An operation has one root field of a non-null object type; that object is the tool's result. Text for the model comes from
 * the descriptions in the schema: a variable has that of the argument or input field it is used for. `@range` and `@size`
 * become bounds. Interfaces, unions and `@skip`/`@include` are refused: they have no single shape.
 */
import {
  type ConstDirectiveNode,
  type DocumentNode,
  type FieldNode,
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLInputType,
  GraphQLList,
  GraphQLNonNull,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  isScalarType,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
  TypeInfo,
  typeFromAST,
  valueFromASTUntyped,
  visit,
  visitWithTypeInfo,
} from "graphql";
import { Failure, never } from "../../../machines/failure.ts";

export type JsonSchema = { readonly [keyword: string]: unknown };
export type ObjectSchema = JsonSchema & {
  readonly type: "object";
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required: string[];
  readonly additionalProperties: false;
};
export type GeneratedSchemas = { readonly input: ObjectSchema; readonly output: ObjectSchema; readonly field: string };

/** A `.gql` file that cannot become a tool. Shown at start. */
export class UnsuitableOperation extends Failure {
  readonly code = "unsuitable_operation";
  readonly retryable = false;
}

/** The schemas of the one operation in `document`; `field` is the response key of its root field. */
export function generateSchemas(schema: GraphQLSchema, document: DocumentNode): GeneratedSchemas {
  const operation = onlyOperation(document);
  const root = schema.getRootType(operation.operation);
  const fields = root ? fieldsOf(document, operation.selectionSet, root) : [];
  const [first] = fields;
  if (!root || !first || fields.length > 1) throw new UnsuitableOperation("an operation needs exactly one root field");
  const type = root.getFields()[first.name.value]?.type;
  if (!isNonNullType(type) || !isObjectType(type.ofType) || !first.selectionSet)
    throw new UnsuitableOperation(`the type of ${first.name.value} must be a non-null object`);
  return {
    input: inputSchema(schema, document, operation),
    output: selectionSchema(document, first.selectionSet, type.ofType),
    field: first.alias?.value ?? first.name.value,
  };
}

function onlyOperation(document: DocumentNode): OperationDefinitionNode {
  const operations = document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION);
  const [first] = operations;
  if (!first || operations.length > 1) throw new UnsuitableOperation("a file needs exactly one operation");
  return first;
}

function inputSchema(schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode): ObjectSchema {
  const uses = variableUses(schema, document);
  const variables = (operation.variableDefinitions ?? []).map(({ variable, type, defaultValue }) => {
    const name = variable.name.value;
    const inputType = inputTypeOf(schema, type);
    const fallback = defaultValue ? { default: valueFromASTUntyped(defaultValue) } : {};
    const property = { ...ofInput(inputType), ...fromDefinition(uses.get(name)), ...fallback };
    return { name, property, required: isNonNullType(inputType) && !defaultValue };
  });
  return closedObject(variables);
}

/** `typeFromAST` has one overload for each kind of node, so that lists and non-nulls are unwrapped here. */
function inputTypeOf(schema: GraphQLSchema, node: Parameters<typeof typeFromAST>[1]): GraphQLInputType {
  if (node.kind === Kind.NON_NULL_TYPE) return new GraphQLNonNull(inputTypeOf(schema, node.type)) as GraphQLInputType;
  if (node.kind === Kind.LIST_TYPE) return new GraphQLList(inputTypeOf(schema, node.type));
  const type = typeFromAST(schema, node);
  if (isScalarType(type) || isEnumType(type) || isInputObjectType(type)) return type;
  throw new UnsuitableOperation(`${node.name.value} is not an input type`);
}

type Definition = GraphQLArgument | GraphQLInputField;

/** Where each variable goes: the argument or input field it is the value of. */
function variableUses(schema: GraphQLSchema, document: DocumentNode): ReadonlyMap<string, Definition> {
  const uses = new Map<string, Definition>();
  const info = new TypeInfo(schema);
  visit(
    document,
    visitWithTypeInfo(info, {
      Argument: ({ value }) => {
        const argument = info.getArgument();
        if (value.kind === Kind.VARIABLE && argument) uses.set(value.name.value, argument);
      },
      ObjectField: ({ name, value }) => {
        const parent = info.getParentInputType();
        const field = isInputObjectType(parent) ? parent.getFields()[name.value] : undefined;
        if (value.kind === Kind.VARIABLE && field) uses.set(value.name.value, field);
      },
    }),
  );
  return uses;
}

function ofInput(type: GraphQLInputType): JsonSchema {
  if (isNonNullType(type)) return ofInput(type.ofType);
  if (isListType(type)) return { type: "array", items: ofInput(type.ofType) };
  if (!isInputObjectType(type)) return ofLeaf(type);
  const fields = Object.values(type.getFields()).map((field) => ({
    name: field.name,
    property: { ...ofInput(field.type), ...fromDefinition(field) },
    required: isNonNullType(field.type) && field.defaultValue === undefined,
  }));
  return { ...closedObject(fields), ...described(type.description) };
}

function fromDefinition(definition: Definition | undefined): JsonSchema {
  if (!definition) return {};
  const type = isNonNullType(definition.type) ? definition.type.ofType : definition.type;
  return {
    ...described(definition.description),
    ...(definition.defaultValue === undefined ? {} : { default: definition.defaultValue }),
    ...Object.assign(
      {},
      ...(definition.astNode?.directives ?? []).map((directive) => bounds(directive, isListType(type))),
    ),
  };
}

function bounds(directive: ConstDirectiveNode, isList: boolean): JsonSchema {
  const [least, most] = keywords(directive.name.value, isList);
  const values = (directive.arguments ?? []).map(({ name, value }) => [
    name.value === "min" ? least : most,
    valueFromASTUntyped(value),
  ]);
  // A length of 0 or more says nothing.
  return Object.fromEntries(values.filter(([keyword, value]) => !(keyword === least && value === 0)));
}

function keywords(directive: string, isList: boolean): readonly [string, string] {
  if (directive === "range") return ["minimum", "maximum"];
  if (directive === "size") return isList ? ["minItems", "maxItems"] : ["minLength", "maxLength"];
  throw new UnsuitableOperation(`no meaning for @${directive}`);
}

function selectionSchema(document: DocumentNode, selection: SelectionSetNode, parent: GraphQLObjectType): ObjectSchema {
  const properties = fieldsOf(document, selection, parent).map((node) => {
    const field = parent.getFields()[node.name.value];
    if (!field) throw new UnsuitableOperation(`${parent.name} has no field ${node.name.value}`);
    const property = { ...ofOutput(document, node, field.type), ...described(field.description) };
    return { name: node.alias?.value ?? node.name.value, property, required: true };
  });
  return closedObject(properties);
}

function ofOutput(document: DocumentNode, node: FieldNode, type: GraphQLOutputType): JsonSchema {
  if (!isNonNullType(type)) return nullable(ofNonNull(document, node, type));
  return ofNonNull(document, node, type.ofType);
}

function ofNonNull(document: DocumentNode, node: FieldNode, type: GraphQLOutputType): JsonSchema {
  if (isListType(type)) return { type: "array", items: ofOutput(document, node, type.ofType) };
  if (isScalarType(type) || isEnumType(type)) return ofLeaf(type);
  if (!isObjectType(type) || !node.selectionSet)
    throw new UnsuitableOperation(`${node.name.value} has no single shape`);
  return selectionSchema(document, node.selectionSet, type);
}

/** A plain `type` becomes a list with null in it; an enum also lists null, and an object is one of two. */
function nullable(schema: JsonSchema): JsonSchema {
  if (schema["type"] === "object") return { anyOf: [schema, { type: "null" }] };
  const values = schema["enum"];
  const withNull = Array.isArray(values) ? { enum: [...values, null] } : {};
  return { ...schema, type: [schema["type"], "null"], ...withNull };
}

/** Fields of a selection with fragments opened; one that is selected twice must be merged by the author. */
function fieldsOf(
  document: DocumentNode,
  selection: SelectionSetNode,
  parent: GraphQLObjectType,
): readonly FieldNode[] {
  const fields = selection.selections.flatMap((node) => opened(document, node, parent));
  const keys = fields.map((field) => field.alias?.value ?? field.name.value);
  const twice = keys.find((key, at) => keys.indexOf(key) !== at);
  if (twice !== undefined) throw new UnsuitableOperation(`${twice} is selected twice`);
  return fields;
}

function opened(document: DocumentNode, node: SelectionNode, parent: GraphQLObjectType): readonly FieldNode[] {
  if (node.directives && node.directives.length > 0) throw new UnsuitableOperation("directives have no single shape");
  switch (node.kind) {
    case Kind.FIELD:
      return [node];
    case Kind.INLINE_FRAGMENT:
      return fieldsOf(document, node.selectionSet, parent);
    case Kind.FRAGMENT_SPREAD: {
      const fragments = document.definitions.filter((other) => other.kind === Kind.FRAGMENT_DEFINITION);
      const fragment = fragments.find(({ name }) => name.value === node.name.value);
      if (!fragment) throw new UnsuitableOperation(`no fragment ${node.name.value}`);
      return fieldsOf(document, fragment.selectionSet, parent);
    }
    default:
      return never(node);
  }
}

function ofLeaf(type: GraphQLInputType | GraphQLOutputType): JsonSchema {
  if (isEnumType(type)) return { type: "string", enum: type.getValues().map(({ name }) => name), ...enumText(type) };
  switch (isScalarType(type) ? type.name : "") {
    case "Int":
      return { type: "integer" };
    case "Float":
      return { type: "number" };
    case "Boolean":
      return { type: "boolean" };
    case "String":
    case "ID":
      return { type: "string" };
    default:
      throw new UnsuitableOperation(`no JSON Schema for ${String(type)}`);
  }
}

/** JSON Schema has no place for the meaning of one enum value, so the meanings are joined. */
function enumText(type: {
  getValues(): readonly { name: string; description?: string | null | undefined }[];
}): JsonSchema {
  const meanings = type.getValues().filter(({ description }) => description);
  return described(meanings.map(({ name, description }) => `${name}: ${description}`).join(" "));
}

const described = (text: string | null | undefined): JsonSchema => (text ? { description: text } : {});

type Property = { readonly name: string; readonly property: JsonSchema; readonly required: boolean };

function closedObject(properties: readonly Property[]): ObjectSchema {
  return {
    type: "object",
    properties: Object.fromEntries(properties.map(({ name, property }) => [name, property])),
    required: properties.filter(({ required }) => required).map(({ name }) => name),
    additionalProperties: false,
  };
}
