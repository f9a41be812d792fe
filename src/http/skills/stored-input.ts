/** Stored files as input, named by their ids. */
import * as z from "zod/mini";
import { BodyTooLarge, FileNotFound, InputInvalid, UnsupportedMediaType } from "../../errors/request.ts";
import { lookUpFile, readFile } from "../../run/files.ts";
import type { RunInput } from "../../run/handle.ts";
import { lazily } from "../../run/large-body.ts";
import type { Json, JsonObject, Manifest } from "../../skill/manifest.ts";
import type { RequestContext } from "../context.ts";
import { accepts, mediaType } from "../media-type.ts";

/** The most ids that one call may name. */
const MAX_IDS = 100;

/** The part of an input that the request itself contains. */
export interface SentInput extends RunInput {
  /** Ids of stored files that belong to the input. */
  ids: readonly string[];
  /** The session named in a field of the form. Absent: none. */
  session?: string;
}

const fileIds = z.lazy(() => z.optional(z.array(z.string()).check(z.maxLength(MAX_IDS))));

/** The member `files` of a JSON body. @throws InputInvalid with a path per finding */
export function sentFileIds({ files }: JsonObject): string[] {
  const result = fileIds.safeParse(files);
  if (result.success) return result.data ?? [];
  const errors = result.error.issues.map(({ path, message }) => ({
    path: ["files", ...path].join("."),
    message,
  }));
  throw new InputInvalid({ reason: `"files" must be a list of up to ${MAX_IDS} ids of files.`, errors });
}

/** Whether a value can mean nothing but a list of ids. */
export function areFileIds(value: Json | undefined): boolean {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((id) => typeof id === "string" && id.startsWith("file_"))
  );
}

/**
 * The input with the stored files that it names, which are read only when the run needs them.
 * @param limit bytes of text and files together
 * @throws FileNotFound for the first id that the tenant does not have; UnsupportedMediaType, BodyTooLarge
 */
export async function withStoredFiles(
  context: RequestContext,
  manifest: Manifest,
  { text, files, ids }: SentInput,
  limit: number,
): Promise<RunInput> {
  if (ids.length === 0) return { text, files };
  const found = await Promise.all(ids.map((id) => lookUpFile(context, id)));
  let size = text?.length ?? 0;
  const stored = found.map((file, index) => {
    if (file === null) throw new FileNotFound({ id: ids[index] ?? "" });
    size += file.size;
    return {
      filename: file.filename,
      mime: mediaType(file.mime),
      body: lazily(() => readFile(context, file)),
    };
  });
  for (const { mime } of stored) {
    if (manifest.input === "file" && !accepts(manifest.input_mime, mime)) {
      throw new UnsupportedMediaType({ type: mime, accepted: manifest.input_mime });
    }
  }
  if (size > limit) throw new BodyTooLarge({ limit });
  return { text, files: stored };
}
