/** Files that a script made, as a response. */

import { toBase64, wellFormedJson } from "../bytes.ts";
import { OutputMissing, RunnerProtocolError } from "../errors/run.ts";
import { mediaTypeOf } from "../skill/media.ts";
import type { RunContext } from "./context.ts";
import { PRODUCED_TTL_MS, storeFile } from "./files.ts";
import type { FilesDocument } from "./files-document.ts";
import type { RunOutput } from "./handle.ts";
import type { Spool } from "./spool.ts";

export interface OutputFile {
  filename: string;
  size: number;
  sha256: string;
  content: Spool;
}

/** Several files of at most this many bytes together are part of the JSON answer; larger ones are linked by URL. */
const MAX_INLINE_BYTES = 5 * 1024 * 1024;
const MAX_NOTE_CHARACTERS = 1000;

/**
 * One file: its bytes. Several: a JSON document.
 * @param bytesOf the content of the n-th file, read again if it did not fit in memory
 */
export async function filesAnswer(
  context: RunContext,
  files: OutputFile[],
  note: string,
  outputMime: string | undefined,
  bytesOf: (index: number) => Promise<Uint8Array | ReadableStream<Uint8Array>>,
): Promise<Omit<RunOutput, "done">> {
  const only = files[0];
  if (only === undefined) throw new OutputMissing({ location: "in HULL_OUTPUT_DIR or at HULL_OUTPUT_FILE" });
  if (files.length === 1) {
    const type = outputMime ?? mediaTypeOf(only.filename);
    const headers = {
      "content-type": type,
      "content-disposition": contentDisposition(isActive(type) ? "attachment" : "inline", only.filename),
      ...(note === "" ? {} : { "x-hull-note": noteHeader(note) }),
    };
    return { body: await bytesOf(0), headers };
  }
  const inline = files.reduce((sum, file) => sum + file.size, 0) <= MAX_INLINE_BYTES;
  const rows: FilesDocument["files"] = [];
  for (const [index, { filename, size, sha256 }] of files.entries()) {
    const mime = mediaTypeOf(filename);
    const bytes = await bytesOf(index);
    const common = { filename, mime, size, sha256 };
    if (inline && bytes instanceof Uint8Array) {
      rows.push({ ...common, dataBase64: toBase64(bytes) });
      continue;
    }
    const stored = await storeFile(context, { filename, mime, size, ttl_ms: PRODUCED_TTL_MS }, bytes);
    // The bytes must match the digest that the runner announced.
    if (stored.sha256 !== sha256)
      throw new RunnerProtocolError({ reason: "a file is not what it was said to be" });
    rows.push({ ...common, url: `/files/${stored.id}` });
  }
  const document: FilesDocument = { note, files: rows };
  return { body: wellFormedJson(document), headers: { "content-type": "application/json" } };
}

/**
 * Whether a browser may execute scripts in content of this type: HTML, XML of any kind (an element of the XHTML
 * namespace suffices), and multipart content, whose parts have types of their own. Of several types in one header,
 * browsers take the last.
 */
export function isActive(type: string): boolean {
  return /\/html|[/+]xml|\/(?:xsl|rdf|x-mixed-replace)\b/i.test(type);
}

/** The headers of a content type. A browser downloads content that could run scripts in Hull's origin. */
export function typeHeaders(type: string): Record<string, string> {
  return { "content-type": type, ...(isActive(type) ? { "content-disposition": "attachment" } : {}) };
}

/** RFC 6266: the name under which to save a file, as an ASCII fallback and exactly. */
export function contentDisposition(disposition: "inline" | "attachment", path: string): string {
  const filename = savedName(path);
  // Some clients decode percent-encodings in the fallback too.
  const ascii = filename.replace(/[^\x20-\x7e]|"|%(?=[0-9a-f]{2})/gi, "_");
  return `${disposition}; filename="${ascii}"; filename*=UTF-8''${encodeRfc5987(filename)}`;
}

/** The part of a name that a browser also keeps: the last part of a path, without control characters. */
function savedName(path: string): string {
  const last = path.split(/[/\\]/).at(-1) ?? "";
  const name = last.replace(/\p{Cc}/gu, "_").trim();
  return /^\.{0,2}$/.test(name) ? "download" : name;
}

function encodeRfc5987(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /['()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** `x-hull-note`: one line, at most 1000 characters. Printable ASCII except `%` stays, the rest is percent-encoded. */
export function noteHeader(note: string): string {
  const line = [...note.trim().replace(/(?<!\s)\s*\n\s*/g, " ")].slice(0, MAX_NOTE_CHARACTERS).join("");
  return line
    .toWellFormed()
    .replace(/[^\x20-\x24\x26-\x7e]/gu, (c) => (c === "%" ? "%25" : encodeURIComponent(c)));
}
