/** `/sessions/:id/artifacts`: the artifacts that the tools of a session made for people to view. */
import { contentDisposition } from "../../run/output-files.ts";
import type { ArtifactView } from "../../session/conversation/answers.ts";
import { artifactFile } from "../artifact-file.ts";
import type { RequestContext } from "../context.ts";
import { numberedPage, pageFrom } from "../page.ts";
import { DIGITS, flagIn, wholeIn } from "../parameters.ts";
import type { Handler } from "../routes.ts";
import { sessionOf, shownNow, shows } from "./object.ts";

/** `GET /sessions/:id/artifacts`: the last version of each, without content, in the order of creation. */
export const listArtifacts = shows("artifacts", pageFrom, numberedPage);

/**
 * `GET /sessions/:id/artifacts/:artifact`: the last version, or the one named by `?version=`; `?download=1`: its content
 * as a file.
 */
export const getArtifact: Handler = async (context, { id = "", artifact = "" }) => {
  const { query } = context;
  const version = wholeIn(query, "version", { otherwise: null });
  const downloads = flagIn(query, "download", DIGITS);
  const view = await sessionOf(context, id).ask("artifact", { id: artifact, version });
  return downloads ? download(context, view) : shownNow(context, view);
};

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
