/** `/files`: files that clients uploaded and runs produced, separate for each tenant. */
import { sha256 } from "../bytes.ts";
import {
  BadRequest,
  FileNotFound,
  FileRequired,
  IdempotencyKeyReused,
  InputInvalid,
} from "../errors/request.ts";
import type { FileDocument } from "../run/answers.ts";
import {
  claimUpload,
  dropFile,
  findFile,
  type StoredFile,
  storeFile,
  UPLOADED_TTL_MS,
} from "../run/files.ts";
import type { Body } from "../run/large-body.ts";
import { contentDisposition, isActive } from "../run/output-files.ts";
import { listUpload, removeFile } from "../run/stored-files.ts";
import { isMediaType, mediaTypeOf } from "../skill/media.ts";
import { dispositionFilename, parseParameters } from "../tool/header-parameters.ts";
import { bodyChunks, declaredLength, withFirst } from "./body.ts";
import type { RequestContext } from "./context.ts";
import { formParts } from "./form.ts";
import { callName, idempotencyKey } from "./idempotency.ts";
import { isForm, mediaType } from "./media-type.ts";
import { jsonNow } from "./page.ts";
import { answerBytes, openStored } from "./representation.ts";
import type { Params } from "./routes.ts";

const MAX_NAME_BYTES = 255;
const MAX_TYPE_LENGTH = 255;

/**
 * `POST /files`: stores the body, or the one file of a form, for 24 hours. The name comes from `?filename=`, the form or
 * Content-Disposition. A repeated upload with the same `Idempotency-Key` returns the first one's file.
 */
export async function uploadFile(context: RequestContext): Promise<Response> {
  const key = idempotencyKey(context.request);
  const form = isForm(context.request);
  const file = form ? await takeForm(context) : await takeBody(context);
  context.log.file = file.id;
  if (key === null) {
    await listUpload(context, file);
    return created(file, {});
  }
  const upload = {
    name: await callName(context, key, "/files"),
    request_hash: await sha256(JSON.stringify([file.filename, file.mime, file.size, file.sha256])),
    answer: JSON.stringify(file),
  };
  const earlier = await claimUpload(context, file.id, upload);
  if (earlier === null) {
    await listUpload(context, file);
    return created(file, {});
  }
  await dropFile(context, file.id);
  if (earlier.request_hash !== upload.request_hash) throw new IdempotencyKeyReused({ key });
  const first: FileDocument = JSON.parse(earlier.answer);
  context.log.file = first.id;
  // The process that stored the file may have died before it listed the file.
  await listUpload(context, first);
  return created(first, { "x-hull-replayed": "1" });
}

function created(file: FileDocument, headers: Record<string, string>): Response {
  return jsonNow(file, 201, { location: `/files/${file.id}`, ...headers });
}

/** Stores the whole body as the file. */
async function takeBody(context: RequestContext): Promise<FileDocument> {
  const { headers } = context.request;
  const disposition = headers.get("content-disposition");
  const parsed = disposition === null ? null : parseParameters(disposition);
  if (disposition !== null && parsed === null) {
    throw new BadRequest({ detail: "The header Content-Disposition cannot be read." });
  }
  const chunks = bodyChunks(context.request, context.settings.max_body_bytes);
  const first = await chunks.next();
  if (first.done) throw new FileRequired({ hint: "The body is empty." });
  return store(context, {
    filename: parsed === null ? null : dispositionFilename(parsed),
    type: headers.get("content-type"),
    size: declaredLength(context.request),
    body: withFirst(first.value, chunks),
  });
}

/** Stores the file of a form; ignores other fields. */
async function takeForm(context: RequestContext): Promise<FileDocument> {
  let taken: FileDocument | null = null;
  try {
    for await (const { name, filename, type, body } of formParts(
      context.request,
      context.settings.max_body_bytes,
    )) {
      if (filename === null) continue;
      if (taken !== null) {
        const errors = [{ path: name, message: "a second file" }];
        throw new InputInvalid({
          reason: "An upload holds one file. Send each file in a request of its own.",
          errors,
        });
      }
      taken = await store(context, { filename, type, size: null, body });
    }
  } catch (error) {
    // If this fails, the index removes the file later.
    if (taken !== null) await dropFile(context, taken.id).catch(() => {});
    throw error;
  }
  if (taken === null) throw new FileRequired({ hint: "The form holds no file part." });
  return taken;
}

interface Upload {
  filename: string | null;
  /** Content-Type as sent. */
  type: string | null;
  size: number | null;
  body: Body;
}

function store(context: RequestContext, { filename: sent, type, size, body }: Upload): Promise<FileDocument> {
  const filename = checkedName(context.query.get("filename") ?? sent);
  const mime = keptType(type, filename);
  return storeFile(context, { filename, mime, size, ttl_ms: UPLOADED_TTL_MS }, body);
}

/** @throws InputInvalid for an invalid file name */
function checkedName(name: string | null): string | null {
  if (name === null || name === "") return null;
  const tooLong = new TextEncoder().encode(name).length > MAX_NAME_BYTES;
  if (!tooLong && !/[\u0000-\u001f\u007f-\u009f]/.test(name)) return name.toWellFormed();
  const message = tooLong ? `longer than ${MAX_NAME_BYTES} bytes` : "has control characters";
  throw new InputInvalid({
    reason: `The file's name is not accepted: ${message}.`,
    errors: [{ path: "filename", message }],
  });
}

/**
 * The type to store and to send later. If the client gives none, it follows from the name; curl's default counts as
 * none.
 */
export function keptType(sent: string | null, filename: string | null): string {
  const type = (sent ?? "").trim();
  const given = type !== "" && mediaType(type) !== "application/x-www-form-urlencoded";
  if (!given) return mediaTypeOf(filename ?? "");
  return isMediaType(type) && type.length <= MAX_TYPE_LENGTH ? type : "application/octet-stream";
}

/** `GET /files/:id`: the bytes, whole or a range of them. */
export async function getFile(context: RequestContext, { id = "" }: Params): Promise<Response> {
  return answerFile(context, await findFile(context, id));
}

/** A file's bytes, whole or a range of them. */
export function answerFile(context: RequestContext, file: StoredFile): Promise<Response> {
  return answerBytes(context, {
    size: file.size,
    etag: file.etag,
    headers: fileHeaders(file.mime, file.filename ?? file.id),
    open: openStored(context.env.FILES, file.key, () => new FileNotFound({ id: file.id })),
  });
}

/** Headers of an answer that is a tenant's file. */
export function fileHeaders(mime: string, filename: string): Record<string, string> {
  return {
    "content-type": mime,
    "content-disposition": contentDisposition(isActive(mime) ? "attachment" : "inline", filename),
    "cache-control": "private, no-cache",
  };
}

/** `DELETE /files/:id`. Runs that are under way keep what they have already read. */
export async function deleteFile(context: RequestContext, { id = "" }: Params): Promise<Response> {
  await findFile(context, id);
  await removeFile(context, id);
  return new Response(null, { status: 204 });
}
