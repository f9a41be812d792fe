/** `/sessions/:id/artifacts`: the artifacts that the tools of a session made for people to view. */
import { firstOf } from "../../cut.ts";
import { BadRequest } from "../../errors/request.ts";
import { contentDisposition } from "../../run/output-files.ts";
import type { ArtifactView } from "../../session/conversation/answers.ts";
import { artifactFile } from "../artifact-file.ts";
import type { RequestContext } from "../context.ts";
import { jsonNow, numberedPage, numericCursor, pageLimit } from "../page.ts";
import { DIGITS, flagIn } from "../parameters.ts";
import type { Handler } from "../routes.ts";
import { sessionOf, shown } from "./object.ts";

/** `GET /sessions/:id/artifacts`: the last version of each, without content, in the order of creation. */
export const listArtifacts: Handler = async (context, { id = "" }) => {
  const { query } = context;
  const wanted = { limit: pageLimit(query), offset: numericCursor(query) ?? 0 };
  return jsonNow(shown(context, numberedPage(await sessionOf(context, id).ask("artifacts", wanted))));
};

/**
 * `GET /sessions/:id/artifacts/:artifact`: the last version, or the one named by `?version=`; `?download=1`: its content
 * as a file.
 */
export const getArtifact: Handler = async (context, { id = "", artifact = "" }) => {
  const { query } = context;
  const version = versionIn(query);
  const downloads = flagIn(query, "download", DIGITS);
  const view = await sessionOf(context, id).ask("artifact", { id: artifact, version });
  return downloads ? download(context, view) : jsonNow(shown(context, view));
};

/** @throws BadRequest */
function versionIn(query: URLSearchParams): number | null {
  const text = query.get("version");
  if (text === null) return null;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new BadRequest({
    detail: `The parameter version must be a whole number, not "${firstOf(text, 80)}".`,
  });
}

/** The content as a file. A browser downloads types that it could execute. */
function download({ settings }: RequestContext, view: ArtifactView): Response {
  const { mime, filename, bytes } = artifactFile(view, settings.redactor);
  const headers = {
    "content-type": mime,
    "content-disposition": contentDisposition("attachment", filename),
    "content-security-policy": "sandbox",
    "cache-control": "no-store",
  };
  return new Response(bytes, { headers });
}
