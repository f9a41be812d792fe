/** `/v1/containers`: the places where OpenAI's clients run code. Each is the workspace of a session with its id. */
import type { FileRetrieveResponse } from "openai/resources/containers/files/files";
import { containerBody, containerFileBody } from "../../../api/bodies/v1.ts";
import { CODE_FOLDERS } from "../../../engine/workspace-tools/code-tools.ts";
import { CallNotFound } from "../../../errors/llm.ts";
import { FileRequired } from "../../../errors/request.ts";
import {
  type Container,
  containerFileId,
  containerFilePath,
  containerTtl,
  openContainer,
  removeContainer,
  UPLOAD_NOTES,
} from "../../../run/container.ts";
import { findFile, readFile } from "../../../run/files.ts";
import { sessionClient } from "../../../run/session-client.ts";
import { allFiles, type WorkspaceFile } from "../../../run/workspace/access.ts";
import { writeFile } from "../../../run/workspace/store.ts";
import { flushRows } from "../../../session/index-rows.ts";
import { listSessionsBy, noteSession } from "../../../session/session-index.ts";
import type { JsonObject } from "../../../skill/manifest.ts";
import { mediaTypeOf } from "../../../skill/media.ts";
import type { RequestContext } from "../../context.ts";
import { fileHeaders } from "../../files.ts";
import { formParts } from "../../form.ts";
import { isForm } from "../../media-type.ts";
import { vendorBody } from "../../operations.ts";
import { jsonNow, pageLimit } from "../../page.ts";
import { answerBytes, openFile } from "../../representation.ts";
import type { Params } from "../../routes.ts";
import { MAX_FILE_BYTES, refusalOf } from "../../sessions/files.ts";
import { ascendingOf, namedIn, openaiPage, pageWithin } from "../lists.ts";
import { newContainer } from "./open.ts";

const IDS = { from: "container_01", to: "container_02" };
const MAX_LIMIT = 100;
/** Bytes of a form without its file. */
const FORM_BYTES = 64 * 1024;

const seconds = (time: string): number => Math.floor(Date.parse(time) / 1000);

function shown(
  { id, created_at, metadata }: Pick<Container, "id" | "created_at" | "metadata">,
  last_active_at: string,
): JsonObject {
  const { name = "", network, memory_limit } = metadata;
  const hosts = Array.isArray(network) ? network : [];
  const over = Date.parse(last_active_at) + containerTtl(metadata) < Date.now();
  return {
    id,
    object: "container",
    created_at: seconds(created_at),
    name,
    status: over ? "expired" : "running",
    last_active_at: seconds(last_active_at),
    expires_after: { anchor: "last_active_at", minutes: Math.floor(containerTtl(metadata) / 60_000) },
    network_policy: hosts.length === 0 ? { type: "disabled" } : { type: "allowlist", allowed_domains: hosts },
    ...(memory_limit === undefined ? {} : { memory_limit }),
  };
}

/** `POST /v1/containers`. @throws InvalidRequest BundleInvalid SkillNotFound FileNotFound */
export async function createContainer(context: RequestContext): Promise<Response> {
  const { name, expires_after: expires, ...terms } = await vendorBody(context, containerBody);
  const about = { name, ...(expires == null ? {} : { expires_minutes: expires.minutes }) };
  const make = await newContainer(context, terms, { path: "", about });
  const container = await make();
  const { id, created_at, metadata } = container;
  // The container's own object writes the row too, a moment later. This write makes the container appear in the list at
  // once.
  const row = { id, state: "active", created_at, parent_id: null, metadata };
  await noteSession(context, row);
  return jsonNow(shown(container, container.last_active_at));
}

/** `GET /v1/containers/:id`. @throws CallNotFound */
export async function getContainer(context: RequestContext, { id = "" }: Params): Promise<Response> {
  const container = await openContainer(context, id);
  return jsonNow(shown(container, container.last_active_at));
}

/** `GET /v1/containers`. Only the route of one container shows its last use. @throws BadRequest */
export async function listContainers(context: RequestContext): Promise<Response> {
  const { query, deployment } = context;
  const limit = pageLimit(query, { max: MAX_LIMIT });
  const last = await namedIn(query, "after", "container", (id) =>
    openContainer(context, id).catch(CallNotFound.orNull),
  );
  const after = last && [last.created_at, last.id];
  const page = { ...IDS, name: query.get("name"), limit, after, ascending: ascendingOf(query) };
  await flushRows(deployment);
  const found = await listSessionsBy(context, page);
  const rows = await Promise.all(
    found.data.map(async (row) => {
      // A container that is deleted during the listing is left out.
      const view = await sessionClient(context, row.id).ask("view", null).catch(CallNotFound.orNull);
      return view === null ? [] : [shown(row, view.updated_at)];
    }),
  );
  return jsonNow(openaiPage({ data: rows.flat(), has_more: found.has_more }));
}

/** `DELETE /v1/containers/:id`: with its files. @throws CallNotFound */
export async function deleteContainer(context: RequestContext, { id = "" }: Params): Promise<Response> {
  await openContainer(context, id);
  await removeContainer(context, id);
  return new Response(null, { status: 204 });
}

function shownFile(
  id: string,
  { path, size, modified_at }: Pick<WorkspaceFile, "path" | "size" | "modified_at">,
): FileRetrieveResponse {
  return {
    id: containerFileId(path),
    object: "container.file",
    bytes: size,
    container_id: id,
    created_at: Math.floor(modified_at / 1000),
    path,
    source: path.startsWith(`${CODE_FOLDERS.input}/`) ? "user" : "assistant",
  };
}

/** @throws CallNotFound */
async function fileOf(context: RequestContext, { id = "", file = "" }: Params) {
  const container = await openContainer(context, id);
  const path = containerFilePath(file);
  const found = path === null ? null : await container.workspace.findFile(path);
  if (found === null) throw new CallNotFound({ what: "file", id: file });
  return { container, found };
}

/** `GET /v1/containers/:id/files`, by time. @throws CallNotFound BadRequest */
export async function listContainerFiles(context: RequestContext, { id = "" }: Params): Promise<Response> {
  const { workspace } = await openContainer(context, id);
  const { query } = context;
  const listed = await allFiles(workspace);
  const newest = listed
    .filter(({ path }) => !path.startsWith(UPLOAD_NOTES))
    .sort((a, b) => b.version - a.version);
  const all = ascendingOf(query) ? newest.reverse() : newest;
  const files = all.map((file) => shownFile(id, file));
  return jsonNow(await pageWithin(files, query, { max: MAX_LIMIT, what: "file" }));
}

/** `POST /v1/containers/:id/files`: the part `file` of a form, or a stored file by `file_id`. */
export async function createContainerFile(context: RequestContext, { id = "" }: Params): Promise<Response> {
  const container = await openContainer(context, id);
  if (isForm(context.request)) {
    for await (const part of formParts(context.request, MAX_FILE_BYTES + FORM_BYTES)) {
      if (part.name === "file") return written(context, container, part.filename ?? "unnamed", part.body);
    }
    throw new FileRequired({ hint: "The form has no part file." });
  }
  const { file_id } = await vendorBody(context, containerFileBody);
  const file = await findFile(context, file_id);
  return written(context, container, file.filename ?? file_id, await readFile(context, file));
}

/** Stores a file in the input folder. @throws BadPath WorkspaceFull */
async function written(
  context: RequestContext,
  { id, workspace }: Container,
  filename: string,
  body: AsyncIterable<Uint8Array>,
): Promise<Response> {
  const path = `${CODE_FOLDERS.input}/${filename.slice(filename.lastIndexOf("/") + 1)}`.normalize("NFC");
  const intent = { path, expected: null, size: null };
  const outcome = await writeFile(context.env.FILES, workspace, intent, body);
  if ("refused" in outcome) throw refusalOf(outcome, path);
  return jsonNow(shownFile(id, { path, size: outcome.size, modified_at: outcome.modified_at }));
}

export async function getContainerFile(context: RequestContext, params: Params): Promise<Response> {
  const { container, found } = await fileOf(context, params);
  return jsonNow(shownFile(container.id, found));
}

/** `DELETE /v1/containers/:id/files/:file`. */
export async function deleteContainerFile(context: RequestContext, params: Params): Promise<Response> {
  const { container, found } = await fileOf(context, params);
  await container.workspace.changeFiles([{ kind: "delete", path: found.path, expected: null }]);
  return new Response(null, { status: 204 });
}

/** `GET /v1/containers/:id/files/:file/content`: the bytes, whole or a range of them. */
export async function getContainerFileContent(context: RequestContext, params: Params): Promise<Response> {
  const { found } = await fileOf(context, params);
  const { path, size, sha256 } = found;
  return answerBytes(context, {
    size,
    etag: `"${sha256}"`,
    headers: fileHeaders(mediaTypeOf(path), path.slice(path.lastIndexOf("/") + 1)),
    open: openFile(context.env.FILES, found),
  });
}
