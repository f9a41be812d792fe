/** `GET /openapi.json`: the document of the catalog, extended by the tenant's uploads. */

import { utf8 } from "../bytes.ts";
import { NotFound } from "../errors/request.ts";
import type { LoadedCatalog } from "../registry/published.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { noneMatch } from "./conditional.ts";
import type { RequestContext } from "./context.ts";
import { servedTo } from "./served.ts";

/** @throws NotFound if the catalog was published without a document */
export async function getOpenapi(context: RequestContext): Promise<Response> {
  const catalog = await servedTo(context);
  const { openapi, uploads, tag } = catalog;
  if (openapi === null) throw new NotFound({ path: "/openapi.json" });
  const etag = `"${uploads.length === 0 ? openapi.slice(0, 32) : tag}"`;
  const headers = { etag, "cache-control": "no-cache" };
  if (noneMatch(context.request, etag)) return new Response(null, { status: 304, headers });
  const bytes = await context.deployment.registry.openapi(openapi);
  const whole = uploads.length === 0 ? bytes : await withUploads(context, catalog, bytes);
  return new Response(whole, { headers: { ...headers, "content-type": "application/json" } });
}

async function withUploads(
  { deployment }: RequestContext,
  catalog: LoadedCatalog,
  base: Uint8Array,
): Promise<Uint8Array> {
  const known = deployment.openapi;
  if (known?.catalog === catalog) return known.bytes;
  const records = await Promise.all(
    catalog.uploads.map(({ version }) => deployment.registry.readableSkill(version)),
  );
  // Imported on first use: without uploads the build's document is enough.
  const { addSkills } = await import("../api/add-skills.ts");
  const document: JsonObject = JSON.parse(new TextDecoder().decode(base));
  addSkills(
    document,
    records.flatMap((record) => record?.manifest ?? []),
  );
  const bytes = utf8(JSON.stringify(document));
  deployment.openapi = { catalog, bytes };
  return bytes;
}
