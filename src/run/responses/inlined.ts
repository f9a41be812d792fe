/** Replaces the ids of stored files in items with the files. */
import { toBase64 } from "../../bytes.ts";
import { FileNotFound } from "../../errors/request.ts";
import { wrong } from "../../llm/members.ts";
import { isObject } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import type { RunContext } from "../context.ts";
import { fileContent, findFile } from "../files.ts";

/** Bytes of the largest file in a message. */
const MAX_FILE_BYTES = 20 * 1024 * 1024;

/** Ids of stored files in a list of items. @throws FileNotFound; InvalidRequest for a file that is too large */
export async function checkFiles(context: RunContext, items: readonly JsonObject[]): Promise<void> {
  for (const [n, { content }] of items.entries()) {
    for (const [m, part] of (Array.isArray(content) ? content : []).entries()) {
      const id = fileId(part);
      if (id === null) continue;
      const { size } = await findFile(context, id);
      if (size > MAX_FILE_BYTES)
        throw wrong(`input.${n}.content.${m}.file_id`, `the file has more than ${MAX_FILE_BYTES} bytes`);
    }
  }
}

/**
 * The items of a conversation with the bytes of their files. In `history`, a text stands for a file that was deleted or
 * has expired since: the conversation can still continue.
 * @throws FileNotFound for a file of `input`
 */
export async function inlined(
  context: RunContext,
  { history, input }: { history: readonly JsonObject[]; input: readonly JsonObject[] },
): Promise<JsonObject[]> {
  const [before, own] = await Promise.all([
    inEach(history, (part) => withBytesIfAny(context, part)),
    inEach(input, (part) => withBytes(context, part)),
  ]);
  return [...before, ...own];
}

/** The items with other parts of their contents where these name a stored file. */
function inEach(
  items: readonly JsonObject[],
  replaced: (part: Json) => Promise<Json>,
): Promise<JsonObject[]> {
  return Promise.all(
    items.map(async (item) => {
      const { content } = item;
      if (!Array.isArray(content) || content.every((part) => fileId(part) === null)) return item;
      return { ...item, content: await Promise.all(content.map(replaced)) };
    }),
  );
}

async function withBytesIfAny(context: RunContext, part: Json): Promise<Json> {
  try {
    return await withBytes(context, part);
  } catch (error) {
    if (!(error instanceof FileNotFound)) throw error;
    return { type: "input_text", text: `[The file ${fileId(part)} was deleted.]` };
  }
}

function fileId(part: Json): string | null {
  const named = isObject(part) && (part.type === "input_image" || part.type === "input_file");
  return named && typeof part.file_id === "string" ? part.file_id : null;
}

async function withBytes(context: RunContext, part: Json): Promise<Json> {
  const id = fileId(part);
  if (id === null || !isObject(part)) return part;
  const { mime, filename, bytes } = await fileContent(context, await findFile(context, id));
  const url = `data:${mime};base64,${toBase64(bytes)}`;
  const { file_id: _, ...rest } = part;
  if (part.type === "input_image") return { ...rest, image_url: url };
  return { ...rest, file_data: url, ...(filename === null ? {} : { filename }) };
}
