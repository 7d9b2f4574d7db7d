import { declarations } from "../wire.ts";
import { firstOf, type Rule } from "./rule.ts";

const FIELDS: ReadonlySet<string> = new Set(
  "contents systemInstruction tools toolConfig generationConfig safetySettings cachedContent model".split(" "),
);

export const fieldsKnown: Rule = (request) => {
  const unknown = Object.keys(request).find((key) => !FIELDS.has(key));
  return unknown === undefined ? undefined : `Unknown name "${unknown}": Cannot find field.`;
};

export const functionNamesValid: Rule = (request) =>
  firstOf(declarations(request), ({ name }, at) =>
    /^[A-Za-z_][A-Za-z0-9_.:-]{0,63}$/.test(name)
      ? undefined
      : `function_declarations[${at}].name: must start with a letter or an underscore, then letters, digits, underscores, dots, colons or dashes, at most 64`,
  );

export const functionNamesUnique: Rule = (request) => {
  const names = declarations(request).map(({ name }) => name);
  return firstOf(names, (name, at) =>
    names.indexOf(name) === at ? undefined : `function_declarations[${at}].name: duplicate function declaration`,
  );
};

export const oneSchemaField: Rule = (request) =>
  firstOf(declarations(request), ({ parameters, parametersJsonSchema }, at) =>
    parameters === undefined || parametersJsonSchema === undefined
      ? undefined
      : `function_declarations[${at}]: parameters and parameters_json_schema are mutually exclusive`,
  );
