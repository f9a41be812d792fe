/** The list and the cards of served skills. */
import { grants } from "../../auth/api-key.ts";
import type { Settings } from "../../env.ts";
import { BadRequest } from "../../errors/request.ts";
import type { LoadedCatalog } from "../../registry/published.ts";
import { searchCards } from "../../registry/search.ts";
import { type Card, MODES, type SkillRecord } from "../../skill/manifest.ts";
import { signatureFault } from "../../skill/trust.ts";
import { noneMatch } from "../conditional.ts";
import type { RequestContext } from "../context.ts";
import { pageLimit } from "../page.ts";
import { servedTo } from "../served.ts";

const DEFAULT_LIMIT = 100;

/** `GET /skills`: a JSON array, paged by `Link`, with a weak validator over catalog and query. */
export async function listSkills(context: RequestContext): Promise<Response> {
  const catalog = await servedTo(context);
  const url = new URL(context.request.url);
  const etag = `W/"${catalog.tag}"`;
  if (noneMatch(context.request, etag)) return notModified(etag);
  const limit = pageLimit(url.searchParams, DEFAULT_LIMIT);
  const mode = url.searchParams.get("mode");
  if (mode !== null && !MODES.some((m) => m === mode)) {
    throw new BadRequest({ detail: `mode must be one of ${MODES.join(", ")}, not "${mode}".` });
  }
  const query = { q: url.searchParams.get("q") ?? "", mode, limit, after: url.searchParams.get("cursor") };
  const page = searchCards(catalog.cards, query);
  const headers = new Headers({
    "content-type": "application/json",
    "cache-control": "no-cache",
    "x-total-count": String(page.total),
    etag,
  });
  if (page.next !== null) {
    const next = new URLSearchParams(url.searchParams);
    next.set("cursor", page.next);
    headers.set("link", `</skills?${next}>; rel="next"`);
  }
  return new Response(JSON.stringify(page.cards), { headers });
}

/**
 * A skill's card with its documentation; an llm skill's body is its prompt and stays private. A caller who may publish
 * also sees the build's findings, and how each tool runs.
 */
export async function skillCard(context: RequestContext, card: Card): Promise<Response> {
  const { deployment, caller, background, settings } = context;
  const catalog = grants(caller.scopes, "publish") ? await deployment.registry.catalog(background) : null;
  const parts = [card.version.slice(0, 32)];
  // A card that turns stale keeps its version.
  if (card.stale === true) parts.push("stale");
  if (catalog !== null) parts.push(catalog.tag);
  const etag = `"${parts.join("-")}"`;
  if (noneMatch(context.request, etag)) return notModified(etag);
  const record = await deployment.registry.skill(card.version);
  const doc = card.mode === "llm" ? {} : { doc: record.body };
  const signature = record.signature === undefined ? {} : signatureShown(record, settings);
  const { input_schema } = record.manifest;
  const taken = input_schema === undefined ? {} : { input_schema };
  const details = catalog === null ? {} : publisherDetails(record, catalog);
  return new Response(JSON.stringify({ ...card, ...doc, ...taken, ...signature, ...details }), {
    headers: { "content-type": "application/json", "cache-control": "no-cache", etag },
  });
}

/** Who signed a skill, and whether the deployment trusts them. */
function signatureShown(record: SkillRecord, { signatures }: Settings): object {
  const fault = signatureFault(record, signatures);
  return { signature: { signer: record.signature?.signer, trusted: fault === null } };
}

function publisherDetails(
  { manifest, files, tools = [], diagnostics = [] }: SkillRecord,
  { overrides, faults }: Pick<LoadedCatalog, "overrides" | "faults">,
): object {
  const tool_details = tools.map(
    ({ name, description, parameters, tier, tier_reason, risk, hidden, script, source }) => ({
      name,
      description,
      parameters,
      tier,
      tier_reason,
      risk,
      hidden,
      script: source ?? script,
      overrides: overrides[`${manifest.slug}/${name}`],
    }),
  );
  const found = [...(faults[manifest.slug] ?? []), ...diagnostics];
  return { diagnostics: found, tool_details, files: files.map(({ path, size }) => ({ path, size })) };
}

function notModified(etag: string): Response {
  return new Response(null, { status: 304, headers: { etag } });
}
