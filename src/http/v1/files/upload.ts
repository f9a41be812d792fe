/** Reads the form of an upload to `/v1/files`: one file, and fields before or after it. */

import { EXPIRY_FIELDS } from "../../../api/bodies/v1.ts";
import { BadRequest, BodyTooLarge, FileRequired } from "../../../errors/request.ts";
import type { FileRow } from "../../../registry/stored-files/rows.ts";
import { fileIdOf } from "../../../run/files.ts";
import { removeFile, saveFile, UPLOAD_PURPOSE, unnamed } from "../../../run/stored-files.ts";
import type { Part } from "../../../tool/multipart-reader.ts";
import type { RequestContext } from "../../context.ts";
import { keptType } from "../../files.ts";
import { fieldText, formParts } from "../../form.ts";
import { madeDigits } from "../../idempotency.ts";
import { isForm } from "../../media-type.ts";
import { dialectOf } from "../dialect.ts";

/** Bytes of a form without its file. */
const FORM_BYTES = 64 * 1024;
const MAX_NAME = 255;

/** Stores the file of a form. @throws FileRequired BodyTooLarge BadRequest StorageQuotaExceeded */
export async function readFileForm(context: RequestContext): Promise<FileRow> {
  const { request, settings } = context;
  const { max_file_bytes: limit } = settings.limits;
  if (!isForm(request)) {
    throw new FileRequired({ hint: "Send it as multipart/form-data in the part file." });
  }
  const fields = new Map<string, string>();
  const id = fileIdOf(await madeDigits(context, "file"));
  const parts = formParts(request, limit + FORM_BYTES);
  let row: FileRow | null = null;
  try {
    for await (const part of parts) {
      if (part.filename === null && part.name !== "file") fields.set(part.name, await fieldText(part));
      else if (row !== null) throw new BadRequest({ detail: "An upload holds one file.", param: "file" });
      else if (part.name === "file") {
        const named = nameAndType(part);
        row = await saveFile(
          context,
          named,
          upTo(part.body, limit),
          async () => {
            // The fields that set the file's lifetime may follow the file.
            for await (const behind of parts) {
              if (behind.filename !== null)
                throw new BadRequest({ detail: "An upload holds one file.", param: "file" });
              fields.set(behind.name, await fieldText(behind));
            }
            return settled(context, fields);
          },
          id,
        );
      }
    }
  } catch (error) {
    if (row !== null) await removeFile(context, row.id).catch(() => {});
    if (error instanceof BodyTooLarge) throw new BodyTooLarge({ limit, setting: "limits.max_file_bytes" });
    throw error;
  }
  if (row === null) throw new FileRequired({ hint: "The form has no part file." });
  return row;
}

async function* upTo(body: AsyncIterable<Uint8Array>, limit: number): AsyncGenerator<Uint8Array, void> {
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > limit) throw new BodyTooLarge({ limit });
    yield chunk;
  }
}

/** @throws BadRequest for a name that no file should have */
function nameAndType({ filename, type }: Part): { filename: string; mime: string } {
  const last = (filename ?? "").split("/").at(-1) ?? "";
  const mime = keptType(type, last);
  if (last === "") return { filename: unnamed(mime), mime };
  const length = Array.from(last).length;
  if (length <= MAX_NAME && !/[<>:"|?*\\\u0000-\u001f\u007f-\u009f]/.test(last))
    return { filename: last, mime };
  const what = `a name of 1 to ${MAX_NAME} characters without < > : " | ? * \\ and control characters`;
  throw new BadRequest({ detail: `The file needs ${what}.`, param: "file" });
}

function settled(
  context: RequestContext,
  fields: ReadonlyMap<string, string>,
): Pick<FileRow, "purpose" | "downloadable" | "expires_ms"> {
  const field = dialectOf(context) === "openai" ? "expires_after[seconds]" : "expires_in_seconds";
  const { minimum: min, maximum: max } = EXPIRY_FIELDS[field];
  const text = fields.get(field);
  const seconds = Number(text);
  if (text !== undefined && !(/^\d{1,8}$/.test(text) && seconds >= min && seconds <= max)) {
    throw new BadRequest({ detail: `${field} must be a whole number from ${min} to ${max}.`, param: field });
  }
  return {
    purpose: fields.get("purpose") || UPLOAD_PURPOSE,
    downloadable: false,
    expires_ms: text === undefined ? null : Date.now() + seconds * 1000,
  };
}
