/** `GET /openapi.json`: the document that was made with the catalog (serving.md §5.1). */
import { NotFound } from "../errors/request.ts";
import { currentCatalog, readOpenapi } from "../registry/published.ts";
import { noneMatch } from "./conditional.ts";
import type { RequestContext } from "./context.ts";

/** @throws NotFound where the catalog was published without a document */
export async function getOpenapi(context: RequestContext): Promise<Response> {
  const { openapi } = await currentCatalog(context.env, context.background);
  if (openapi === null) throw new NotFound({ path: "/openapi.json" });
  const etag = `"${openapi.slice(0, 32)}"`;
  const headers = { etag, "cache-control": "no-cache" };
  if (noneMatch(context.request, etag)) return new Response(null, { status: 304, headers });
  const bytes = await readOpenapi(context.env, openapi);
  return new Response(bytes, { headers: { ...headers, "content-type": "application/json" } });
}
