/** The list, the cards and the versions of served skills. */

import type { CardDetails } from "../../api/answers/skills.ts";
import { grants } from "../../auth/api-key.ts";
import type { Settings } from "../../env.ts";
import type { LoadedCatalog } from "../../registry/published.ts";
import { versionsOf } from "../../registry/versions.ts";
import { own } from "../../skill/json.ts";
import type { Card, SkillRecord } from "../../skill/manifest.ts";
import { MODES } from "../../skill/manifest-fields.ts";
import { signatureFault } from "../../skill/trust.ts";
import { noneMatch } from "../conditional.ts";
import type { RequestContext } from "../context.ts";
import { jsonAnswer } from "../json.ts";
import { numberedPage, numericCursor, pageLimit } from "../page.ts";
import { oneOf } from "../parameters.ts";
import type { Params } from "../routes.ts";
import { findSlug, servedTo } from "../served.ts";

/** `GET /skills`: a JSON array, paged by `Link`, with a weak validator over catalog and query. */
export async function listSkills(context: RequestContext): Promise<Response> {
  const catalog = await servedTo(context);
  const url = new URL(context.request.url);
  const etag = `W/"${catalog.tag}"`;
  if (noneMatch(context.request, etag)) return notModified(etag);
  const limit = pageLimit(url.searchParams, { otherwise: 100 });
  const mode = oneOf(url.searchParams, "mode", MODES);
  const after = url.searchParams.get("cursor");
  const { page, total, next } = searchCards(
    catalog.cards,
    url.searchParams.get("q") ?? "",
    mode,
    after,
    limit,
  );
  const headers = new Headers({
    "content-type": "application/json",
    "cache-control": "no-cache",
    "x-total-count": String(total),
    etag,
  });
  if (next !== null) {
    url.searchParams.set("cursor", next);
    headers.set("link", `</skills?${url.searchParams}>; rel="next"`);
  }
  return jsonAnswer(page, { headers });
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
  const signature = signatureShown(record, settings);
  const { input_schema } = record.manifest;
  const taken = input_schema === undefined ? {} : { input_schema };
  const details = catalog === null ? {} : publisherDetails(record, catalog);
  return jsonAnswer(
    { ...card, ...doc, ...taken, ...signature, ...details },
    {
      headers: { "content-type": "application/json", "cache-control": "no-cache", etag },
    },
  );
}

/** Who signed a skill, and whether the deployment trusts them. */
function signatureShown(record: SkillRecord, { signatures }: Settings): Pick<CardDetails, "signature"> {
  if (record.signature === undefined) return {};
  const { signer } = record.signature;
  return { signature: { signer, trusted: signatureFault(record, signatures) === null } };
}

function publisherDetails(
  { manifest, files, tools = [], diagnostics = [] }: SkillRecord,
  { overrides, faults }: Pick<LoadedCatalog, "overrides" | "faults">,
): Pick<CardDetails, "diagnostics" | "tool_details" | "files"> {
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
  const found = [...(own(faults, manifest.slug) ?? []), ...diagnostics];
  return { diagnostics: found, tool_details, files: files.map(({ path, size }) => ({ path, size })) };
}

function notModified(etag: string): Response {
  return new Response(null, { status: 304, headers: { etag } });
}

/**
 * `GET /skills/:slug/versions`: a page of those published, or uploaded, the newest first. The cursor is the number of
 * older ones, so new versions do not change it.
 */
export async function listVersions(context: RequestContext, params: Params): Promise<Response> {
  const { query } = context;
  const limit = pageLimit(query);
  const cursor = numericCursor(query);
  const { card, catalog } = await findSlug(context, params.slug ?? "");
  const all = await versionsOf(context.env, catalog, card);
  const rest = cursor === null ? all : all.slice(Math.max(0, all.length - cursor));
  const left = rest.length - limit;
  const page = numberedPage({ data: rest.slice(0, limit), next: left > 0 ? left : null });
  return jsonAnswer(page, { headers: { "cache-control": "no-cache" } });
}

/**
 * One page of the matching cards; `cards` are sorted by slug.
 * @param query words that must all occur in name, slug, description or tool names; letter case and Unicode's form do not matter
 * @param after slug after which the page begins
 */
function searchCards(
  cards: readonly Card[],
  query: string,
  mode: string | null,
  after: string | null,
  limit: number,
) {
  const folded = (text: string): string => text.normalize("NFC").toLowerCase();
  const words = folded(query).split(/\s+/).filter(Boolean);
  const matching = cards.filter((card) => {
    if (mode !== null && card.mode !== mode) return false;
    if (words.length === 0) return true;
    const text = folded([card.name, card.slug, card.description, ...(card.tools ?? [])].join("\n"));
    return words.every((word) => text.includes(word));
  });
  const rest = after === null ? matching : matching.filter((card) => card.slug > after);
  const page = rest.slice(0, limit);
  const next = rest.length > page.length ? (page.at(-1)?.slug ?? null) : null;
  return { page, total: matching.length, next };
}
