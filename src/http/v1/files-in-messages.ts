/** Puts stored files into a request's messages, which name them by id. */
import { toBase64, unmarkedUtf8 } from "../../bytes.ts";
import { wrong } from "../../llm/members.ts";
import { MOST_NAMED_BYTES } from "../../llm/vendor-limits.ts";
import { type FileContent, fileContent, findFile } from "../../run/files.ts";
import { isObject } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import type { RequestContext } from "../context.ts";

/** How a vendor's API names a stored file in a part of a message. */
interface Form {
  /** The id of the file that a part names; `null`: it names none that is stored here. */
  idOf(part: JsonObject): string | null;
  /** The part with the file in place of its id. @throws InvalidRequest for a file that the part cannot hold */
  holding(part: JsonObject, file: FileContent, path: string): JsonObject;
}

/** Ids of files that Hull stores. Other ids may be known to Anthropic. */
const OWN_ID = /^file_[0-9a-f]{32}$/;

/** `image` and `document` blocks with a source of the type `file`. */
const ANTHROPIC: Form = {
  idOf({ type, source }) {
    if ((type !== "image" && type !== "document") || !isObject(source)) return null;
    const { file_id } = source;
    return source.type === "file" && typeof file_id === "string" && OWN_ID.test(file_id) ? file_id : null;
  },
  holding(block, { mime, filename, bytes }, path) {
    const named = block.type === "image" || filename === null ? {} : { title: filename };
    const whole = (source: JsonObject): JsonObject => ({ ...named, ...block, source });
    const inline = block.type === "image" ? mime.startsWith("image/") : mime === "application/pdf";
    if (inline) return whole({ type: "base64", media_type: mime, data: toBase64(bytes) });
    const text = block.type === "document" ? unmarkedUtf8(bytes) : null;
    if (text?.includes("\0") === false) return whole({ type: "text", media_type: "text/plain", data: text });
    const fit = block.type === "image" ? "an image" : "a PDF file or text";
    throw wrong(`${path}.source.file_id`, `the file is ${mime}, and not ${fit}`);
  },
};

/** Parts of the type `file`. */
const OPENAI: Form = {
  idOf({ type, file }) {
    if (type !== "file" || !isObject(file) || file.file_data !== undefined) return null;
    return typeof file.file_id === "string" ? file.file_id : null;
  },
  holding(part, { mime, filename, bytes }) {
    const named = filename === null ? {} : { filename };
    return { ...part, file: { ...named, file_data: `data:${mime};base64,${toBase64(bytes)}` } };
  },
};

/** The body of a request of `/v1/messages` with its files. @throws FileNotFound InvalidRequest */
export const withFiles = (context: RequestContext, body: JsonObject): Promise<JsonObject> =>
  withFilesOf(context, body, ANTHROPIC);

/** The body of a chat completion with its files. @throws FileNotFound InvalidRequest */
export const withChatFiles = (context: RequestContext, body: JsonObject): Promise<JsonObject> =>
  withFilesOf(context, body, OPENAI);

async function withFilesOf(context: RequestContext, body: JsonObject, form: Form): Promise<JsonObject> {
  let left = MOST_NAMED_BYTES;
  const inPart = async (part: Json, path: string): Promise<Json> => {
    if (!isObject(part)) return part;
    if (part.type === "tool_result") return inContent(part, path);
    const id = form.idOf(part);
    if (id === null) return part;
    const file = await findFile(context, id);
    left -= file.size;
    if (left < 0) throw wrong(path, `the files of a request have at most ${MOST_NAMED_BYTES} bytes together`);
    return form.holding(part, await fileContent(context, file), path);
  };
  const inContent = async (holder: JsonObject, path: string): Promise<JsonObject> => {
    if (!Array.isArray(holder.content)) return holder;
    const content: Json[] = [];
    for (const [n, part] of holder.content.entries())
      content.push(await inPart(part, `${path}.content.${n}`));
    return { ...holder, content };
  };
  const names = (holder: Json): boolean =>
    isObject(holder) && Array.isArray(holder.content)
      ? holder.content.some((part) => isObject(part) && (form.idOf(part) !== null || names(part)))
      : false;
  if (!Array.isArray(body.messages) || !body.messages.some(names)) return body;
  const messages: Json[] = [];
  for (const [n, message] of body.messages.entries())
    messages.push(isObject(message) ? await inContent(message, `messages.${n}`) : message);
  return { ...body, messages };
}
