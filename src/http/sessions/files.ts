/**
 * `/sessions/{id}/files`: the files of a session's workspace. The guard has already decided who may see the session.
 */

import { percentDecoded } from "../../bytes.ts";
import {
  BadPath,
  BadRequest,
  FileNotFound,
  PreconditionFailed,
  WorkspaceFull,
} from "../../errors/request.ts";
import { Internal } from "../../errors.ts";
import type { SessionFile } from "../../run/answers.ts";
import { clientWorkspace } from "../../run/session-client.ts";
import type { Expected, Refusal, WorkspaceAccess, WorkspaceFile } from "../../run/workspace/access.ts";
import { writeFile } from "../../run/workspace/store.ts";
import { mediaTypeOf } from "../../skill/media.ts";
import { pathFault, writeFault } from "../../tool/workspace-path.ts";
import { bodyChunks, checkDeclaredLength, declaredLength } from "../body.ts";
import { matchTags } from "../conditional.ts";
import type { RequestContext } from "../context.ts";
import { fileHeaders } from "../files.ts";
import { jsonNow, pageLimit } from "../page.ts";
import { answerBytes, openFile } from "../representation.ts";
import type { Handler } from "../routes.ts";
import { sessionOf } from "./object.ts";

/** Largest file that a client may store. */
export const MAX_FILE_BYTES = 32 * 1024 * 1024;

/** A handler that gets the workspace of the path's session. @throws CallNotFound if the tenant has no such session */
const inWorkspace =
  (handle: (context: RequestContext, workspace: WorkspaceAccess) => Promise<Response>): Handler =>
  async (context, { id = "" }) =>
    handle(context, clientWorkspace(sessionOf(context, id)));

/** `GET /sessions/:id/files`: a page of files, sorted by path. */
export const listSessionFiles = inWorkspace(async (context, workspace) => {
  const { query } = context;
  const limit = pageLimit(query);
  const files = await workspace.listFiles(query.get("cursor"), limit + 1);
  const data = files.slice(0, limit).map(rowOf);
  return jsonNow({ data, next_cursor: files.length > limit ? (data.at(-1)?.path ?? null) : null });
});

/** `GET /sessions/:id/files/{path}`: the bytes, whole or a range of them. */
export const getSessionFile = inWorkspace(async (context, workspace) => {
  const path = filePath(context.request);
  const file = await workspace.findFile(path);
  if (file === null) throw new FileNotFound({ path });
  const headers = {
    ...fileHeaders(mediaTypeOf(path), path.slice(path.lastIndexOf("/") + 1)),
    "last-modified": new Date(file.modified_at).toUTCString(),
  };
  return answerBytes(context, {
    size: file.size,
    etag: `"${file.sha256}"`,
    headers,
    open: openFile(context.env.FILES, file),
  });
});

export const putSessionFile = inWorkspace(storeFile);

/**
 * `PUT /sessions/:id/files/{path}`: stores the body as the file; 201 if the file is new, 200 if it existed. `If-Match`
 * and `If-None-Match: *` set conditions on the present file.
 */
export async function storeFile(context: RequestContext, workspace: WorkspaceAccess): Promise<Response> {
  const { request, env } = context;
  const path = filePath(request);
  const reason = writeFault(path);
  if (reason !== null) throw new BadPath({ path, reason });
  const expected = expectation(request);
  checkDeclaredLength(request, MAX_FILE_BYTES);
  const intent = { path, expected, size: declaredLength(request) };
  const written = await writeFile(env.FILES, workspace, intent, bodyChunks(request, MAX_FILE_BYTES));
  if ("refused" in written) throw refusalOf(written, path);
  const status = written.done === "created" ? 201 : 200;
  return jsonNow(rowOf({ path, ...written }), status, { etag: `"${written.sha256}"` });
}

/** `DELETE /sessions/:id/files/{path}`. */
export const deleteSessionFile = inWorkspace(async (context, workspace) => {
  const path = filePath(context.request);
  const expected = expectation(context.request);
  const [outcome] = await workspace.changeFiles([{ kind: "delete", path, expected }]);
  if (outcome !== undefined && "refused" in outcome) throw refusalOf(outcome, path);
  return new Response(null, { status: 204 });
});

/** A file in the form of the routes. */
function rowOf({
  path,
  size,
  sha256,
  modified_at,
}: Omit<WorkspaceFile, "executable" | "version">): SessionFile {
  return { path, size, sha256, modified_at: new Date(modified_at).toISOString() };
}

/** The path in a URL, in form NFC. @throws BadPath */
function filePath(request: Request): string {
  const { pathname } = new URL(request.url);
  const encoded = /^\/sessions\/[^/]+\/files\/(.*)$/.exec(pathname)?.[1] ?? "";
  const path = percentDecoded(encoded.replace(/\/$/, ""))?.normalize("NFC");
  if (path === undefined) throw new BadPath({ path: encoded, reason: "is not percent-encoded UTF-8" });
  const reason = pathFault(path);
  if (reason !== null) throw new BadPath({ path, reason });
  return path;
}

/** The condition of the request (RFC 9110 §13.1). @throws BadRequest */
function expectation(request: Request): Expected | null {
  const match = matchTags(request);
  const none = request.headers.get("if-none-match");
  if (none !== null && (none.trim() !== "*" || match !== null)) {
    throw new BadRequest({ detail: "A change takes If-Match, or If-None-Match with the value *." });
  }
  if (none !== null) return "none";
  if (match === null) return null;
  return match === "*" ? "any" : { sha256: match };
}

/** Why a change was refused, as an error. */
export function refusalOf(refusal: Refusal, path: string): Error {
  switch (refusal.refused) {
    case "path":
      return new BadPath({ path, reason: refusal.reason });
    case "expected":
      return new PreconditionFailed({ path });
    case "full":
      return new WorkspaceFull(refusal);
    case "missing":
      return new FileNotFound({ path });
    case "content":
      return new Internal({ cause: "the content was removed before the file was made" });
  }
}
