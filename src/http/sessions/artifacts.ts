/** `/sessions/:id/artifacts` (skill-formats.md §7.5): what the tools of a session made for people to look at. */

import { fromBase64 } from "../../bytes.ts";
import type { ArtifactType } from "../../engine/artifact.ts";
import { BadRequest } from "../../errors/request.ts";
import { contentDisposition } from "../../run/output-files.ts";
import type { ArtifactView } from "../../session/conversation/rpc.ts";
import type { RequestContext } from "../context.ts";
import { jsonNow, pageLimit } from "../page.ts";
import { sessionOf, shown } from "./object.ts";
import type { Route } from "./shapes.ts";

/** `GET /sessions/:id/artifacts`: each as its last version is, without content, in the order in which they were made. */
export const getArtifacts: Route = async (context, { id = "" }) => {
  const query = new URL(context.request.url).searchParams;
  const limit = pageLimit(query);
  const offset = wholeNumber(query, "cursor") ?? 0;
  const { data, next } = await sessionOf(context, id).ask("artifacts", { offset, limit });
  return jsonNow(shown(context, { data, next_cursor: next === null ? null : String(next) }));
};

/** `GET /sessions/:id/artifacts/:artifact`: the last version, or that of `?version=`; `?download=1`: its content as a file. */
export const getArtifact: Route = async (context, { id = "", artifact = "" }) => {
  const query = new URL(context.request.url).searchParams;
  const version = wholeNumber(query, "version");
  const view = await sessionOf(context, id).ask("artifact", { id: artifact, version });
  return query.get("download") === "1" ? download(context, view) : jsonNow(shown(context, view));
};

/** @throws BadRequest */
function wholeNumber(query: URLSearchParams, name: string): number | null {
  const text = query.get(name);
  if (text === null) return null;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new BadRequest({
    detail: `The parameter ${name} must be a whole number, not "${text.slice(0, 80)}".`,
  });
}

/** Media type and ending of what is text. */
const TEXT_FORMS: { [type in ArtifactType]: readonly [mime: string, ending: string] } = {
  code: ["text/plain", "txt"],
  html: ["text/html", "html"],
  markdown: ["text/markdown", "md"],
  svg: ["image/svg+xml", "svg"],
  mermaid: ["text/plain", "mmd"],
  react: ["text/plain", "tsx"],
  image: ["text/uri-list", "txt"],
  custom: ["text/plain", "txt"],
  document: ["text/plain", "txt"],
};

/** The content as a file: what a browser would run is never shown in place. */
function download({ settings }: RequestContext, { id, type, content, metadata }: ArtifactView): Response {
  const data = typeof content === "string" ? dataUrl(content) : null;
  const [mime, ending] = typeof content === "string" ? TEXT_FORMS[type] : ["application/json", "json"];
  const text = typeof content === "string" ? content : JSON.stringify(settings.redactor.json(content));
  const { fileName } = metadata;
  const name = typeof fileName === "string" && fileName !== "" ? fileName : `${id}.${data?.ending ?? ending}`;
  const headers = {
    "content-type": data?.mime ?? (mime === "application/json" ? mime : `${mime}; charset=utf-8`),
    "content-disposition": contentDisposition("attachment", name),
    "content-security-policy": "sandbox",
    "cache-control": "no-store",
  };
  return new Response(data?.bytes ?? settings.redactor.text(text), { headers });
}

/** What a `data:` URL in Base64 holds (RFC 2397). */
function dataUrl(content: string): { mime: string; ending: string; bytes: Uint8Array<ArrayBuffer> } | null {
  const [, mime, base64] = /^data:([a-z]+\/[a-z0-9.+-]+);base64,([A-Za-z0-9+/]+={0,2})$/i.exec(content) ?? [];
  if (mime === undefined || base64 === undefined || base64.length % 4 !== 0) return null;
  const bytes = new Uint8Array(fromBase64(base64));
  return { mime, ending: mime.split("/")[1]?.replace(/\+.*$/, "") ?? "bin", bytes };
}
