/** A skill's answer as the content of an MCP tool result. */

import * as z from "zod/mini";
import { fromBase64, Gathered, percentDecoded, toBase64, utf8OrNull } from "../../bytes.ts";
import type { Artifact } from "../../engine/artifact.ts";
import { counted } from "../../plural.ts";
import { findFile, type NewFile, PRODUCED_TTL_MS, readFile, storeFile } from "../../run/files.ts";
import { type FilesDocument, filesDocument } from "../../run/files-document.ts";
import { filesInHeader } from "../../run/served-files.ts";
import { parsedFile } from "../../skill/json-depth.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { isTextType } from "../../skill/media.ts";
import { artifactFile } from "../artifact-file.ts";
import { withFirst } from "../body.ts";
import { mediaType } from "../media-type.ts";
import type { Exchange } from "./exchange.ts";

/** A longer text or image travels as a link to a stored file. */
const MAX_INLINE_BYTES = 4 * 1024 * 1024;
/** The versions without links to resources in results. */
const LINKLESS = ["2025-03-26", "2024-11-05"];

/** Content of a whole answer. @param asFile the output of a skill that makes files, which are not shown as text */
export async function contentOf(
  exchange: Exchange,
  response: Response,
  asFile: boolean,
): Promise<JsonObject[]> {
  const mime = response.headers.get("content-type") ?? "application/octet-stream";
  const filename = filenameIn(response.headers.get("content-disposition"));
  const { held, rest } = await head(response.body);
  if (asFile && filename === null && rest === null) {
    const several = severalShape.safeParse(parsedFile(held));
    if (several.success) return severalContents(exchange, several.data);
  }
  const note = decoded(response.headers.get("x-hull-note") ?? "");
  const content = await contentItem(exchange, { mime, filename, body: rest ?? held, file: asFile });
  return note === "" ? [content] : [{ type: "text", text: note }, content];
}

/** The artifacts of a tool, each in its last version: nothing else keeps them for this caller. */
export async function artifactContents(
  exchange: Exchange,
  artifacts: readonly Artifact[],
): Promise<JsonObject[]> {
  const contents: JsonObject[] = [];
  for (const artifact of new Map(artifacts.map((made) => [made.id, made])).values()) {
    const { mime, filename, bytes } = artifactFile(artifact, exchange.context.settings.redactor);
    contents.push(await contentItem(exchange, { mime, filename, body: bytes, file: true }));
  }
  return contents;
}

/**
 * What an llm skill made in its work folder: images while there is room for them, links to the others.
 * @param listed the header that names the files
 * @param single a single file is the answer itself
 */
export async function producedContents(
  exchange: Exchange,
  listed: string,
  single: boolean,
): Promise<JsonObject[]> {
  const { context } = exchange;
  const files = filesInHeader(listed);
  if (single && files.length === 1) return [];
  const contents: JsonObject[] = [];
  let room = MAX_INLINE_BYTES;
  for (const { id, path, size, mime_type: mime } of files) {
    if (isShownImage(mime) && size <= room) {
      room -= size;
      const { held } = await head(await readFile(context, await findFile(context, id)));
      contents.push(imageOf(mime, held));
    } else contents.push(linkTo(exchange, `/files/${id}`, { filename: path, mime, size }));
  }
  const others = /more;count=(\d+)/.exec(listed)?.[1];
  if (others !== undefined)
    contents.push({ type: "text", text: `Not listed: ${counted(Number(others), "file")}.` });
  return contents;
}

const isShownImage = (mime: string): boolean =>
  mediaType(mime).startsWith("image/") && mediaType(mime) !== "image/svg+xml";

const imageOf = (mime: string, bytes: Uint8Array): JsonObject => ({
  type: "image",
  data: toBase64(bytes),
  mimeType: mediaType(mime),
});

interface Item {
  mime: string;
  filename: string | null;
  /** The whole body if it is short, else a stream. */
  body: Uint8Array | AsyncIterable<Uint8Array>;
  /** The content for a file, which is not shown as text. */
  file: boolean;
}

async function contentItem(exchange: Exchange, item: Item): Promise<JsonObject> {
  const { mime, body, file } = item;
  if (body instanceof Uint8Array) {
    if (isShownImage(mime)) return imageOf(mime, body);
    const text = file || !isTextType(mime) ? null : utf8OrNull(body);
    if (text !== null) return { type: "text", text };
  }
  return stored(exchange, item);
}

async function stored(exchange: Exchange, { mime, filename, body }: Item): Promise<JsonObject> {
  const { context } = exchange;
  const size = body instanceof Uint8Array ? body.length : null;
  const file: NewFile = { filename, mime, ttl_ms: PRODUCED_TTL_MS, size };
  const made = await storeFile(context, file, body);
  return linkTo(exchange, `/files/${made.id}`, { filename: filename ?? made.id, mime, size: made.size });
}

/** A link that the client follows with the key of its call. */
function linkTo(
  { context, protocol }: Exchange,
  path: string,
  { filename, mime, size }: { filename: string; mime: string; size: number },
): JsonObject {
  const { url, headers } = context.request;
  const { href } = new URL(path, url);
  // TLS may end in front of a local server. A client that forges the header gets links that do not work.
  const uri = headers.get("x-forwarded-proto") === "https" ? href.replace(/^http:/, "https:") : href;
  if (LINKLESS.includes(protocol.version)) {
    return { type: "text", text: `${filename} (${mediaType(mime)}, ${counted(size, "byte")}): ${uri}` };
  }
  return { type: "resource_link", uri, name: filename, mimeType: mediaType(mime), size };
}

const severalShape = z.lazy(filesDocument);

async function severalContents(exchange: Exchange, { note, files }: FilesDocument): Promise<JsonObject[]> {
  const contents: JsonObject[] = note.trim() === "" ? [] : [{ type: "text", text: note }];
  for (const { filename, mime, size, dataBase64, url } of files) {
    const bytes = dataBase64 === undefined ? null : fromBase64(dataBase64);
    if (bytes !== null)
      contents.push(await contentItem(exchange, { mime, filename, body: bytes, file: true }));
    else if (url !== undefined) contents.push(linkTo(exchange, url, { filename, mime, size }));
  }
  return contents;
}

/** The beginning of a body, up to the inline limit; if there is more, the whole body as a stream. */
async function head(
  body: ReadableStream<Uint8Array> | null,
): Promise<{ held: Uint8Array; rest: AsyncIterable<Uint8Array> | null }> {
  const gathered = new Gathered();
  const chunks = body?.[Symbol.asyncIterator]();
  for (let next = await chunks?.next(); next !== undefined && !next.done; next = await chunks?.next()) {
    gathered.push(next.value);
    if (chunks !== undefined && gathered.bytes > MAX_INLINE_BYTES) {
      const first = gathered.take();
      return { held: first, rest: withFirst(first, chunks) };
    }
  }
  return { held: gathered.take(), rest: null };
}

/** The exact name in a header of Hull's own (RFC 6266). */
function filenameIn(disposition: string | null): string | null {
  const exact = /filename\*=UTF-8''([^;]+)/i.exec(disposition ?? "")?.[1];
  return exact === undefined ? null : decoded(exact);
}

/** A text that is not percent-encoded stays unchanged. */
const decoded = (text: string): string => percentDecoded(text) ?? text;
