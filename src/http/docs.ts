/**
 * `GET /docs/reader`: a reader for `/openapi.json` that can send requests. Its files are static assets; nothing comes
 * from other sites.
 */
import { NotFound } from "../errors/request.ts";
import type { RequestContext } from "./context.ts";
import type { Params } from "./routes.ts";

/** The served files of `assets/docs`, by name: the reader's, and JSON Schemas. */
const FILES = new Map([
  ["start.js", "text/javascript; charset=utf-8"],
  ["swagger-ui-bundle.js", "text/javascript; charset=utf-8"],
  ["swagger-ui.css", "text/css; charset=utf-8"],
  // For editors: of a SKILL.md's frontmatter, of a tools.json, and of hull.toml.
  ["skill.schema.json", "application/json"],
  ["tools.schema.json", "application/json"],
  ["hull.schema.json", "application/json"],
]);

/** Permits scripts, styles and calls from this origin only; the style sheet carries its icons as `data:`. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const PAGE = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>API reference</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<div id="reader"><noscript>This page needs JavaScript; the document itself is at <a href="/openapi.json">/openapi.json</a>.</noscript></div>
<script src="/docs/swagger-ui-bundle.js" defer></script>
<script src="/docs/start.js" defer></script>
</html>
`;

function readerPage(): Response {
  return new Response(PAGE, {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-cache",
      "content-security-policy": POLICY,
      "referrer-policy": "no-referrer",
    },
  });
}

/**
 * `GET /docs/:file`: the reader or one of its files. @throws NotFound for any other file, and if the reader is not
 * installed
 */
export async function docsFile(context: RequestContext, params: Params): Promise<Response> {
  const name = params.file ?? "";
  if (name === "reader") return readerPage();
  const type = FILES.get(name);
  if (type === undefined) throw new NotFound({ path: "this path below /docs" });
  const known = context.request.headers.get("if-none-match");
  const asset = await context.env.ASSETS.fetch(`https://assets.invalid/docs/${name}`, {
    headers: known === null ? {} : { "if-none-match": known },
  });
  if (asset.status !== 304 && !asset.ok) {
    await asset.body?.cancel();
    throw new NotFound({ path: `/docs/${name}` });
  }
  const headers = new Headers({ "content-type": type, "cache-control": "no-cache" });
  const etag = asset.headers.get("etag");
  if (etag !== null) headers.set("etag", etag);
  return new Response(asset.body, { status: asset.status, headers });
}
