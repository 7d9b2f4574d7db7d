import { toolSpecs } from "../wire.ts";
import { firstOf, type Rule } from "./rule.ts";

type Json = Readonly<Record<string, unknown>>;
const isJson = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);

export const toolsGiven: Rule = (request) =>
  request.toolConfig !== undefined && toolSpecs(request).length === 0
    ? "toolConfig.tools: at least one toolSpec"
    : undefined;

export const namesLegal: Rule = (request) =>
  firstOf(toolSpecs(request), ({ name, description }, at) => {
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(name))
      return `toolConfig.tools.${at}.toolSpec.name: must match [a-zA-Z0-9_-]{1,64}`;
    return description === "" ? `toolConfig.tools.${at}.toolSpec.description: must not be empty` : undefined;
  });

export const namesUnique: Rule = (request) => {
  const names = toolSpecs(request).map(({ name }) => name);
  return new Set(names).size < names.length ? "toolConfig.tools: tool names must be unique" : undefined;
};

export const rootsAreObjects: Rule = (request) =>
  firstOf(toolSpecs(request), ({ inputSchema: { json } }, at) => {
    const path = `toolConfig.tools.${at}.toolSpec.inputSchema.json`;
    if (!isJson(json) || json["type"] !== "object") return `${path}.type: must be object`;
    const union = ["anyOf", "oneOf", "allOf"].find((key) => key in json);
    return union === undefined ? undefined : `${path}: does not support ${union} at the top level`;
  });

export const propertyNamesLegal: Rule = (request) =>
  firstOf(toolSpecs(request), ({ inputSchema: { json } }, at) => {
    const properties = isJson(json) && isJson(json["properties"]) ? Object.keys(json["properties"]) : [];
    return properties.every((name) => /^[A-Za-z0-9_.-]{1,64}$/.test(name))
      ? undefined
      : `toolConfig.tools.${at}.toolSpec.inputSchema.json.properties: names must match [a-zA-Z0-9_.-]{1,64}`;
  });
