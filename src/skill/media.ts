/**
 * Media types: their form, which of them are text, and the type of a file by its extension. Hono's table lacks Markdown,
 * YAML and office documents, mrmime's NDJSON, tar and office documents.
 */

const TOKEN = "[a-z0-9!#$&^_.+-]+";
const PATTERN = new RegExp(`^${TOKEN}/(?:${TOKEN}|\\*)$`);
const WITH_PARAMETERS = new RegExp(`^${TOKEN}/${TOKEN}(?:\\s*;\\s*${TOKEN}=(?:${TOKEN}|"[^"]*"))*$`, "i");

/** Whether the text is `type/subtype` or `type/*`, lower case, without parameters. */
export function isMediaPattern(text: string): boolean {
  return PATTERN.test(text) && !text.startsWith("*/");
}

/** Whether the text is a media type, parameters allowed. */
export function isMediaType(text: string): boolean {
  return WITH_PARAMETERS.test(text);
}

/** Application types that are text although their names do not show it. */
const TEXT_SUBTYPES = new Set([
  "json",
  "x-ndjson",
  "ndjson",
  "xml",
  "yaml",
  "x-yaml",
  "toml",
  "javascript",
  "x-www-form-urlencoded",
]);

/** Whether a media type (or pattern) is read as text rather than as a file; parameters are ignored. */
export function isTextType(type: string): boolean {
  const essence = (type.split(";")[0] ?? "").trim().toLowerCase();
  const [main, sub = ""] = essence.split("/");
  if (main === "text") return true;
  if (main !== "application") return false;
  return TEXT_SUBTYPES.has(sub) || sub.endsWith("+json") || sub.endsWith("+xml") || sub.endsWith("+yaml");
}

const BY_EXTENSION = new Map(
  Object.entries({
    html: "text/html; charset=utf-8",
    htm: "text/html; charset=utf-8",
    xhtml: "application/xhtml+xml",
    txt: "text/plain; charset=utf-8",
    md: "text/markdown; charset=utf-8",
    css: "text/css; charset=utf-8",
    csv: "text/csv; charset=utf-8",
    tsv: "text/tab-separated-values; charset=utf-8",
    js: "text/javascript; charset=utf-8",
    mjs: "text/javascript; charset=utf-8",
    json: "application/json",
    jsonl: "application/x-ndjson",
    ndjson: "application/x-ndjson",
    xml: "application/xml",
    yaml: "application/yaml",
    yml: "application/yaml",
    toml: "application/toml",
    svg: "image/svg+xml",
    png: "image/png",
    jpg: "image/jpeg",
    jpeg: "image/jpeg",
    gif: "image/gif",
    webp: "image/webp",
    avif: "image/avif",
    ico: "image/x-icon",
    pdf: "application/pdf",
    zip: "application/zip",
    gz: "application/gzip",
    tar: "application/x-tar",
    wasm: "application/wasm",
    mp3: "audio/mpeg",
    wav: "audio/wav",
    ogg: "audio/ogg",
    mp4: "video/mp4",
    webm: "video/webm",
    woff: "font/woff",
    woff2: "font/woff2",
    ttf: "font/ttf",
    otf: "font/otf",
    docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  }),
);

/** The media type of a file by the extension of its name; `application/octet-stream` if unknown. */
export function mediaTypeOf(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const extension = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  return BY_EXTENSION.get(extension) ?? "application/octet-stream";
}

/** The first extension of a media type, with its dot; empty if unknown. */
export function extensionOf(type: string): string {
  const essence = (of: string): string => (of.split(";")[0] ?? "").trim().toLowerCase();
  for (const [extension, known] of BY_EXTENSION) if (essence(known) === essence(type)) return `.${extension}`;
  return "";
}
