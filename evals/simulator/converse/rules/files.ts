import type { ConverseBlock } from "../wire.ts";
import { firstOf, inBlocks, type Rule } from "./rule.ts";

const IMAGES: ReadonlySet<string> = new Set(["png", "jpeg", "gif", "webp"]);
const DOCUMENTS: ReadonlySet<string> = new Set("pdf csv doc docx xls xlsx html txt md".split(" "));
const LIMITS = { image: { count: 20, bytes: 3_750_000 }, document: { count: 5, bytes: 4_500_000 } } as const;

const bytesIn = (data: string | undefined): number =>
  data === undefined || Buffer.from(data, "base64").toString("base64") !== data ? 0 : Buffer.byteLength(data, "base64");

export const filesValid: Rule = (request) =>
  inBlocks(request, ({ image, document }, role) => {
    const file = image ?? document;
    if (file === undefined) return undefined;
    const limit = LIMITS[image === undefined ? "document" : "image"].bytes;
    const size = bytesIn(file.source.bytes);
    if (role !== "user") return "files are allowed in a user message only";
    if (!(image === undefined ? DOCUMENTS : IMAGES).has(file.format)) return "the format is not supported";
    return size === 0 || size > limit ? "source.bytes must hold a file that is not too large" : undefined;
  });

/** Letters, digits, single blanks, hyphens, parentheses and square brackets. */
export const documentNamesLegal: Rule = (request) =>
  inBlocks(request, ({ document }) =>
    document === undefined || /^[A-Za-z0-9()[\]-]+(?: [A-Za-z0-9()[\]-]+)*$/.test(document.name)
      ? undefined
      : "document.name has characters that are not allowed",
  );

export const documentsDistinct: Rule = ({ messages = [] }) => {
  const names = messages.flatMap(({ content }) => content.flatMap(({ document }) => document?.name ?? []));
  return new Set(names).size < names.length ? "messages: two documents have the same name" : undefined;
};

export const documentsHaveText: Rule = ({ messages = [] }) =>
  firstOf(messages, ({ content }, at) =>
    content.some(({ document }) => document !== undefined) && content.every(({ text }) => text === undefined)
      ? `messages.${at}: a text block is required beside a document`
      : undefined,
  );

export const filesFew: Rule = ({ messages = [] }) => {
  const count = (is: (block: ConverseBlock) => boolean) =>
    messages.reduce((sum, { content }) => sum + content.filter(is).length, 0);
  if (count(({ image }) => image !== undefined) > LIMITS.image.count) return "messages: too many images";
  return count(({ document }) => document !== undefined) > LIMITS.document.count
    ? "messages: too many documents"
    : undefined;
};
