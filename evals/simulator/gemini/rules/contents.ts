import type { GeminiContent, GeminiPart } from "../wire.ts";
import { firstOf, type Rule } from "./rule.ts";

const calls = (content: GeminiContent | undefined) =>
  (content?.parts ?? []).flatMap((part) => (part.functionCall === undefined ? [] : [part.functionCall]));
const responses = (content: GeminiContent | undefined) =>
  (content?.parts ?? []).flatMap((part) => (part.functionResponse === undefined ? [] : [part.functionResponse]));

/** A field `find` reports for some part, with its position in front. */
const inParts = (
  contents: readonly GeminiContent[],
  find: (part: GeminiPart, of: GeminiContent) => string | undefined,
) =>
  firstOf(contents, (content, at) =>
    firstOf(content.parts ?? [], (part, index) => {
      const problem = find(part, content);
      return problem === undefined ? undefined : `contents[${at}].parts[${index}]: ${problem}`;
    }),
  );

export const contentsGiven: Rule = ({ contents }) =>
  contents === undefined || contents.length === 0 ? "contents is not specified" : undefined;

export const rolesKnown: Rule = ({ contents = [] }) =>
  firstOf(contents, ({ role }, at) =>
    role === "user" || role === "model" ? undefined : `contents[${at}]: please use a valid role: user, model`,
  );

export const startsWithUser: Rule = ({ contents = [] }) =>
  contents[0]?.role === "user" ? undefined : "contents[0]: the first content must have role user";

export const endsWithUser: Rule = ({ contents = [] }) =>
  contents.at(-1)?.role === "user"
    ? undefined
    : `contents[${contents.length - 1}]: the last content must have role user`;

export const neighboursAlternate: Rule = ({ contents = [] }) =>
  firstOf(contents, ({ role }, at) =>
    at > 0 && contents[at - 1]?.role === role
      ? `contents[${at}]: has the same role as the content before it`
      : undefined,
  );

export const partsGiven: Rule = ({ contents = [] }) =>
  firstOf(contents, ({ parts }, at) =>
    parts === undefined || parts.length === 0 ? `contents[${at}]: must include at least one parts field` : undefined,
  );

/** An empty text is allowed only as the carrier of a signature. */
export const partsHoldData: Rule = ({ contents = [] }) =>
  inParts(contents, (part) => {
    const data = [part.text, part.functionCall, part.functionResponse, part.inlineData, part.fileData];
    const given = data.filter((field) => field !== undefined).length;
    if (given === 0) return "required oneof field 'data' must have one initialized field";
    if (given > 1) return "oneof field 'data' is already set";
    return part.text === "" && part.thoughtSignature === undefined ? "text must not be empty" : undefined;
  });

export const partsFitRole: Rule = ({ contents = [] }) =>
  inParts(contents, (part, { role }) => {
    if (part.functionCall !== undefined && role !== "model") return "function call is allowed in a model turn only";
    if (part.functionResponse !== undefined && role !== "user")
      return "function response is allowed in a user turn only";
    return undefined;
  });

/** What the API's guides name for images, documents and text; others exist, but this agent has no use for them. */
const MIME_TYPES = new Set([
  "image/png",
  "image/jpeg",
  "image/webp",
  "image/heic",
  "image/heif",
  "application/pdf",
  "text/plain",
]);
const isBase64 = (data: string): boolean => Buffer.from(data, "base64").toString("base64") === data;

export const inlineDataValid: Rule = ({ contents = [] }) =>
  inParts(contents, ({ inlineData }, { role }) => {
    if (inlineData === undefined) return undefined;
    const { mimeType, data } = inlineData;
    if (role !== "user") return "inlineData is allowed in a user turn only";
    if (mimeType === undefined || !MIME_TYPES.has(mimeType)) return "inlineData: unsupported MIME type";
    if (data === undefined || data === "") return "inlineData.data must not be empty";
    return isBase64(data) ? undefined : "inlineData.data: base64 decoding failed";
  });

export const callsAnswered: Rule = ({ contents = [] }) =>
  firstOf(contents, (content, at) => {
    const wanted = calls(content).length;
    const found = responses(contents[at + 1]).length;
    return wanted === 0 || wanted === found
      ? undefined
      : `contents[${at + 1}]: the number of function response parts (${found}) must equal the number of function call parts (${wanted}) of contents[${at}]`;
  });

export const responsesAsked: Rule = ({ contents = [] }) =>
  firstOf(contents, (content, at) =>
    responses(content).length > 0 && calls(contents[at - 1]).length === 0
      ? `contents[${at}]: function response turn must come immediately after a function call turn`
      : undefined,
  );

export const responsesInOrder: Rule = ({ contents = [] }) =>
  firstOf(contents, (content, at) => {
    const asked = calls(contents[at - 1]);
    return firstOf(responses(content), (response, index) =>
      response.name === asked[index]?.name
        ? undefined
        : `contents[${at}]: function response ${index} does not have the name of function call ${index}`,
    );
  });

export const responseIdsMatch: Rule = ({ contents = [] }) =>
  firstOf(contents, (content, at) => {
    const asked = calls(contents[at - 1]);
    return firstOf(responses(content), (response, index) =>
      response.id === asked[index]?.id
        ? undefined
        : `contents[${at}]: function response ${index} does not have the id of function call ${index}`,
    );
  });
