/** `/v1/files`: a tenant's files, in three dialects over one store. */

import { BadRequest, FileExpired, FileNotDownloadable, FileNotFound } from "../../../errors/request.ts";
import type { Page } from "../../../list-page.ts";
import {
  type FileRow,
  findFileRow,
  findFileRows,
  isExpired,
  listFileRows,
} from "../../../registry/stored-files/rows.ts";
import { findFile } from "../../../run/files.ts";
import { removeFile } from "../../../run/stored-files.ts";
import type { RequestContext } from "../../context.ts";
import { answerFile } from "../../files.ts";
import { jsonNow, pageLimit } from "../../page.ts";
import type { Params } from "../../routes.ts";
import { type Dialect, dialectOf } from "../dialect.ts";
import { ascendingOf, namedIn, pageAnswer, pageOf } from "../lists.ts";
import { sweepAfterChange } from "../sweep.ts";
import { readFileForm } from "./upload.ts";

const OPENAI_LIMIT = 10_000;
/** The most ids of one request. */
const MAX_IDS = 100;

function fileDocument(file: FileRow, dialect: Dialect): object {
  const { id, filename, size, purpose, created_us, expires_ms } = file;
  if (dialect === "openai") {
    const expires = expires_ms === null ? {} : { expires_at: Math.floor(expires_ms / 1000) };
    const own = { id, object: "file", bytes: size, created_at: Math.floor(created_us / 1_000_000), filename };
    return { ...own, purpose, status: "processed", ...expires };
  }
  const created_at = new Date(created_us / 1000).toISOString();
  const own = { id, type: "file", filename, mime_type: file.mime, size_bytes: size, created_at };
  const shown = { ...own, downloadable: file.downloadable };
  if (dialect === "anthropic_legacy") return shown;
  return { ...shown, expires_at: expires_ms === null ? null : new Date(expires_ms).toISOString() };
}

export async function createStoredFile(context: RequestContext): Promise<Response> {
  const file = await readFileForm(context);
  sweepAfterChange(context);
  context.log.file = file.id;
  return jsonNow(fileDocument(file, dialectOf(context)));
}

/** @throws FileNotFound */
async function fileOf(context: RequestContext, { id = "" }: Params): Promise<FileRow> {
  const file = await findFileRow(context, id);
  if (file === null) throw new FileNotFound({ id });
  return file;
}

export async function getStoredFile(context: RequestContext, params: Params): Promise<Response> {
  return jsonNow(fileDocument(await fileOf(context, params), dialectOf(context)));
}

export async function deleteStoredFile(context: RequestContext, params: Params): Promise<Response> {
  const { id } = await fileOf(context, params);
  await removeFile(context, id);
  const openai = dialectOf(context) === "openai";
  return jsonNow(openai ? { id, object: "file", deleted: true } : { id, type: "file_deleted" });
}

/** The bytes. Like Anthropic itself, its dialect sends only the bytes of generated files. */
export async function getStoredFileContent(context: RequestContext, params: Params): Promise<Response> {
  const file = await fileOf(context, params);
  const { id } = file;
  if (isExpired(file)) throw new FileExpired({ id });
  if (!file.downloadable && dialectOf(context) !== "openai") throw new FileNotDownloadable({ id });
  return answerFile(context, await findFile(context, id));
}

export function listStoredFiles(context: RequestContext): Promise<Response> {
  const dialect = dialectOf(context);
  const { query } = context;
  if (dialect === "openai") return listForOpenai(context, query);
  return dialect === "anthropic" ? listForAnthropic(context, query) : listForLegacy(context, query);
}

async function listForAnthropic(context: RequestContext, query: URLSearchParams): Promise<Response> {
  for (const param of ["before_id", "after_id"]) {
    if (query.has(param))
      throw new BadRequest({ detail: `${param} is not accepted; page asks for the next page.`, param });
  }
  const ids = [...new Set([...query.getAll("ids[]"), ...query.getAll("ids")])];
  if (ids.length > 0) {
    if (query.has("limit") || query.has("page")) {
      throw new BadRequest({ detail: "ids is sent alone, without limit and page.", param: "ids" });
    }
    if (ids.length > MAX_IDS)
      throw new BadRequest({ detail: `ids may have at most ${MAX_IDS} ids.`, param: "ids" });
    return filesPage(context, { data: await findFileRows(context, ids), has_more: false });
  }
  const limit = pageLimit(query);
  const after = await pageOf(context, query);
  return filesPage(context, await listFileRows(context, { limit, after, purpose: null }));
}

/** The pages after `after_id` and before `before_id`, both with the newest file first. */
async function listForLegacy(context: RequestContext, query: URLSearchParams): Promise<Response> {
  const limit = pageLimit(query);
  const [before, after] = [
    await cursorOf(context, query, "before_id"),
    await cursorOf(context, query, "after_id"),
  ];
  const ascending = before !== null;
  const page = { limit, after: before ?? after, ascending, purpose: null };
  const { data: found, has_more } = await listFileRows(context, page);
  const files = ascending ? found.toReversed() : found;
  const data = files.map((file) => fileDocument(file, "anthropic_legacy"));
  return jsonNow({ data, has_more, first_id: files[0]?.id ?? null, last_id: files.at(-1)?.id ?? null });
}

async function listForOpenai(context: RequestContext, query: URLSearchParams): Promise<Response> {
  const limit = pageLimit(query, { max: OPENAI_LIMIT, otherwise: OPENAI_LIMIT });
  const after = await cursorOf(context, query, "after");
  const page = { limit, after, ascending: ascendingOf(query), purpose: query.get("purpose") };
  return filesPage(context, await listFileRows(context, page));
}

/** The position in the list of the file that a parameter names. @throws BadRequest */
async function cursorOf(context: RequestContext, query: URLSearchParams, param: string) {
  const file = await namedIn(query, param, "file", (id) => findFileRow(context, id));
  return file && [file.created_us];
}

const filesPage = (context: RequestContext, page: Page<FileRow>): Promise<Response> =>
  pageAnswer(context, page, fileDocument, ({ created_us }) => created_us);
