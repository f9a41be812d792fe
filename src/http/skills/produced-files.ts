/**
 * The answer of a skill that made files, in the form that its caller asked for: the text, the text with the files, or
 * one file.
 */

import { FileNotFound } from "../../errors/request.ts";
import { OutputMissing } from "../../errors/run.ts";
import { StorageUnavailable } from "../../errors.ts";
import { MOST_FILES } from "../../llm/vendor-limits.ts";
import { logFault } from "../../log.ts";
import type { ProducedFile, TextWithFiles } from "../../run/answers.ts";
import { findFile, readFile } from "../../run/files.ts";
import { NOT_STORED } from "../../run/not-stored.ts";
import { contentDisposition, isActive } from "../../run/output-files.ts";
import { filesInHeader, shortFilesHeader } from "../../run/served-files.ts";
import type { Manifest } from "../../skill/manifest.ts";
import type { RequestContext } from "../context.ts";
import { jsonAnswer } from "../json.ts";
import { listedTypes, typeOf } from "../media-type.ts";
import { isEventStream } from "../sse.ts";

/**
 * `?file=PATH` selects that file, and `output: file` the only one. `Accept: multipart/mixed` selects the text followed
 * by all files, `Accept: application/json` the text with the list of files. By default, the answer is the text, with the
 * files' ids in `x-hull-files`.
 * @throws FileNotFound, OutputMissing, StorageUnavailable if the file may be one that was not stored
 */
export async function withProducedFiles(
  context: RequestContext,
  manifest: Manifest,
  answer: Response,
): Promise<Response> {
  // In a stream, the last event names the files.
  if (answer.status !== 200 || isEventStream(answer)) return answer;
  return withShortList(await inForm(context, manifest, answer));
}

/** Limits the headers of an answer, so that every client accepts them however many files they name. */
export function withShortList(answer: Response): Response {
  const listed = answer.headers.get("x-hull-files");
  if (listed === null) return answer;
  const headers = new Headers(answer.headers);
  headers.set("x-hull-files", shortFilesHeader(listed));
  return new Response(answer.body, { status: answer.status, headers });
}

async function inForm(context: RequestContext, manifest: Manifest, answer: Response): Promise<Response> {
  const files = filesInHeader(answer.headers.get("x-hull-files") ?? "");
  const wanted = context.query.get("file");
  if (wanted !== null) return fileAnswer(context, namedFile(files, wanted, answer), answer);
  const accepted = listedTypes(context.request.headers.get("accept"));
  const [only, ...more] = files;
  if (manifest.output === "file") {
    if (only === undefined)
      throw new OutputMissing({ location: "in its work folder that is new or changed" });
    if (more.length === 0) return fileAnswer(context, only, answer, manifest.output_mime);
  }
  if (accepted.includes("multipart/mixed") && only !== undefined) return mixedAnswer(context, files, answer);
  const own = typeOf(answer);
  if (accepted.includes("application/json") && own !== "application/json") {
    const listed: TextWithFiles = { text: await answer.text(), files };
    return jsonAnswer(listed, { headers: headersOf(answer, "application/json") });
  }
  return answer;
}

/** @throws FileNotFound, StorageUnavailable */
function namedFile(files: readonly ProducedFile[], wanted: string, answer: Response): ProducedFile {
  const isSame = ({ path }: ProducedFile): boolean => path.normalize("NFC") === wanted.normalize("NFC");
  const file = files.find(({ path }) => path === wanted) ?? files.find(isSame);
  if (file !== undefined) return file;
  const warnings = answer.headers.get("x-hull-warnings")?.split(",") ?? [];
  const cut = files.length === MOST_FILES;
  if (warnings.includes(NOT_STORED) && !cut) throw new StorageUnavailable({ cause: `no file ${wanted}` });
  throw new FileNotFound({ path: wanted, made: files.map(({ path }) => path), cut });
}

function headersOf(answer: Response, type: string): Headers {
  const headers = new Headers(answer.headers);
  headers.delete("content-length");
  headers.set("content-type", type);
  return headers;
}

async function bodyOf(context: RequestContext, { id }: ProducedFile) {
  return readFile(context, await findFile(context, id));
}

/** The bytes of a file in an answer that has begun: only the log can say why they end early. */
async function* loggedBody(context: RequestContext, file: ProducedFile): AsyncGenerator<Uint8Array, void> {
  try {
    yield* await bodyOf(context, file);
  } catch (error) {
    logFault(context, { event: "file_not_sent", file: file.id }, error);
    throw error;
  }
}

async function fileAnswer(
  context: RequestContext,
  file: ProducedFile,
  answer: Response,
  type = file.mime_type,
): Promise<Response> {
  await answer.body?.cancel();
  const headers = headersOf(answer, type);
  const kind = isActive(type) ? "attachment" : "inline";
  headers.set("content-disposition", contentDisposition(kind, file.path));
  return new Response(await bodyOf(context, file), { headers });
}

/** Multipart content (RFC 2046): the text first, then each file. */
async function mixedAnswer(
  context: RequestContext,
  files: readonly ProducedFile[],
  answer: Response,
): Promise<Response> {
  const boundary = `hull-${crypto.randomUUID()}`;
  const text = await answer.text();
  const type = answer.headers.get("content-type") ?? "text/plain; charset=utf-8";
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const send = async (): Promise<void> => {
    const writer = writable.getWriter();
    const say = (line: string): Promise<void> => writer.write(new TextEncoder().encode(line));
    try {
      await say(`--${boundary}\r\nContent-Type: ${type}\r\n\r\n${text}\r\n`);
      for (const file of files) {
        const disposition = contentDisposition("attachment", file.path);
        const about = `Content-Type: ${file.mime_type}\r\nContent-Disposition: ${disposition}\r\nContent-Location: /files/${file.id}\r\n`;
        await say(`--${boundary}\r\n${about}\r\n`);
        for await (const chunk of loggedBody(context, file)) await writer.write(chunk);
        await say("\r\n");
      }
      await say(`--${boundary}--\r\n`);
      await writer.close();
    } catch (error) {
      await writer.abort(error).catch(() => {});
    }
  };
  context.background(send());
  return new Response(readable, { headers: headersOf(answer, `multipart/mixed; boundary=${boundary}`) });
}
