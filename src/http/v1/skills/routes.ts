/** `/v1/skills`: a tenant's stored skills, in three dialects over one store. */

import * as z from "zod/mini";
import { defaultVersionBody } from "../../../api/bodies/publishing.ts";
import { firstOf } from "../../../cut.ts";
import { BadRequest, CatalogMissing, SkillNotFound, SkillReadOnly } from "../../../errors/request.ts";
import type { Page } from "../../../list-page.ts";
import { readPointer } from "../../../registry/published.ts";
import { findBundle } from "../../../registry/stored-skills/bundles.ts";
import {
  addVersion,
  createSkill,
  findSkill,
  findVersion,
  listSkills,
  listVersions,
  type RemovalRule,
  removeSkill,
  removeVersion,
  type StoredSkill,
  type StoredVersion,
  setDefault,
} from "../../../registry/stored-skills/rows.ts";
import { ignoredHeader } from "../../../run/end-headers.ts";
import { contentDisposition } from "../../../run/output-files.ts";
import type { Card } from "../../../skill/manifest.ts";
import { MAX_JSON_BYTES } from "../../body.ts";
import type { RequestContext } from "../../context.ts";
import { madeId } from "../../idempotency.ts";
import { vendorBody } from "../../operations.ts";
import { jsonNow, pageLimit } from "../../page.ts";
import { oneOf } from "../../parameters.ts";
import { answerBytes, openStored } from "../../representation.ts";
import type { Params } from "../../routes.ts";
import { type Dialect, dialectOf } from "../dialect.ts";
import { ascendingOf, itemsFrom, namedIn, pageAnswer, pageOf } from "../lists.ts";
import { sweepAfterChange } from "../sweep.ts";
import {
  deletedSkill,
  deletedVersion,
  publishedDocument,
  skillDocument,
  versionDocument,
} from "./documents.ts";
import { searchedSkills } from "./search.ts";
import { readSentSkill, storeSentSkill } from "./upload.ts";
import { storeAtVendor } from "./vendor.ts";

/** The largest `limit` of each list. */
const SKILLS_LIMIT: { [dialect in Dialect]: number } = {
  anthropic: 1000,
  anthropic_legacy: 100,
  openai: 100,
};
const VERSIONS_LIMIT: { [dialect in Dialect]: number } = {
  anthropic: 1000,
  anthropic_legacy: 1000,
  openai: 100,
};
/** Most bytes of `x-hull-diagnostics`. */
const MAX_HEADER = 4000;

export async function createStoredSkill(context: RequestContext): Promise<Response> {
  const { caller } = context;
  const sent = await readSentSkill(context);
  if (sent.vendor !== null) return storeAtVendor(context, sent.vendor, sent);
  const { label, ignored, version, dialect } = await storeSentSkill(context, sent, null);
  const unique = dialect === "anthropic_legacy";
  const made = await madeId(context, "skill");
  const skill = await createSkill(context, { label, unique, by: caller.key_id, version, made });
  sweepAfterChange(context);
  if (skill === "label_taken") {
    const detail = `Another skill has the display_title "${label}". Choose another one, or add a version to that skill.`;
    throw new BadRequest({ detail, param: "display_title" });
  }
  context.log.stored_skill = skill.id;
  return noted(jsonNow(skillDocument(skill, dialect)), version, ignored);
}

function noted(
  response: Response,
  { diagnostics }: Pick<StoredVersion, "diagnostics">,
  ignored: readonly string[] = [],
): Response {
  if (diagnostics !== "[]") response.headers.set("x-hull-diagnostics", shortened(diagnostics));
  if (ignored.length > 0)
    response.headers.set("x-hull-ignored", ascii(ignored.join(", ")).slice(0, MAX_HEADER));
  return response;
}

/** A JSON list as a header, cut to as many items as fit, perhaps none: clients refuse an answer with long headers. */
function shortened(list: string): string {
  const all: unknown[] = z.array(z.unknown()).parse(JSON.parse(list));
  let items = "";
  for (const item of all) {
    const more = `${items}${items === "" ? "" : ","}${ascii(JSON.stringify(item))}`;
    if (more.length + "[]".length > MAX_HEADER) break;
    items = more;
  }
  return `[${items}]`;
}

const ascii = (text: string): string =>
  text.replace(/[^\x20-\x7e]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Parameters of the list in every dialect; clients send the last two to every route. */
const LIST_PARAMETERS = ["limit", "query", "top_k", "beta", "api-version"];

/** `x-hull-ignored` names parameters that are not the list's own, such as `offset`: a client may page by them. */
export async function listStoredSkills(context: RequestContext): Promise<Response> {
  const dialect = dialectOf(context);
  const own = [...LIST_PARAMETERS, ...(dialect === "openai" ? ["after", "order"] : ["page", "source"])];
  const response = await skillsPage(context, dialect);
  const ignored = ignoredHeader([...context.query.keys()].filter((name) => !own.includes(name)));
  for (const [name, value] of Object.entries(ignored)) response.headers.set(name, value);
  return response;
}

async function skillsPage(context: RequestContext, dialect: Dialect): Promise<Response> {
  const { query } = context;
  const openai = dialect === "openai";
  const limit = pageLimit(query, { min: openai ? 0 : 1, max: SKILLS_LIMIT[dialect] });
  const source = (openai ? null : oneOf(query, "source", ["custom", "anthropic", "plugin"])) ?? "custom";
  if (source === "plugin") return listPublished(context, limit);
  const answer = (page: Page<StoredSkill>): Promise<Response> =>
    pageAnswer(context, page, skillDocument, ({ created_us }) => created_us);
  if (source !== "custom") return answer({ data: [], has_more: false });
  const wanted = query.get("query");
  if (wanted !== null) return answer({ data: await searchedSkills(context, wanted), has_more: false });
  const last = openai ? await namedIn(query, "after", "skill", (id) => findSkill(context, id)) : null;
  const after = openai ? last && [last.created_us] : await pageOf(context, query);
  const ascending = openai && ascendingOf(query);
  const page = { limit, after, ascending, withEmpty: dialect === "anthropic_legacy" };
  return answer(await listSkills(context, page));
}

/** The skills that are part of the deployment, sorted by slug. */
async function listPublished(context: RequestContext, limit: number): Promise<Response> {
  const { cards } = await context.deployment.registry.catalog(context.background);
  const [from = 0] = (await pageOf(context, context.query)) ?? [];
  const publishedAt = await lastPublish(context);
  return pageAnswer(
    context,
    itemsFrom(cards, from, limit),
    (card, dialect) => publishedDocument(card, publishedAt, dialect),
    () => from + limit,
  );
}

/** Unix ms; 0 if the catalog is part of the deployment and was never published. */
async function lastPublish({ env }: RequestContext): Promise<number> {
  const pointer = await readPointer(env);
  return pointer === null ? 0 : Date.parse(pointer.published_at);
}

/** The card of a skill that is part of the deployment; `null`: there is none. @throws CatalogUnreadable */
async function publishedCard({ deployment, background }: RequestContext, id: string): Promise<Card | null> {
  const catalog = await deployment.registry.catalog(background).catch(CatalogMissing.orNull);
  return catalog?.bySlug.get(id) ?? null;
}

/** @throws SkillNotFound SkillReadOnly */
async function skillOf(context: RequestContext, { id = "" }: Params): Promise<StoredSkill> {
  const skill = await findSkill(context, id);
  if (skill !== null) return skill;
  if ((await publishedCard(context, id)) === null) throw new SkillNotFound({ id });
  if (["GET", "HEAD"].includes(context.request.method)) throw new SkillNotFound({ published: id });
  throw new SkillReadOnly({ id });
}

/** @throws SkillNotFound */
async function versionOf(context: RequestContext, params: Params): Promise<StoredVersion> {
  const { id = "", version: name = "" } = params;
  if (name === "latest" && dialectOf(context) === "anthropic_legacy") {
    throw new BadRequest({ detail: "latest names no version in a path; use latest_version of the skill." });
  }
  const version = await findVersion(context, id, name);
  if (version !== null) return version;
  await skillOf(context, params);
  throw new SkillNotFound({ id, version: name });
}

export async function getStoredSkill(context: RequestContext, params: Params): Promise<Response> {
  const dialect = dialectOf(context);
  const { id = "" } = params;
  const skill = await findSkill(context, id);
  if (skill === null) {
    const card = await publishedCard(context, id);
    if (card === null) throw new SkillNotFound({ id });
    return jsonNow(publishedDocument(card, await lastPublish(context), dialect));
  }
  checkNotEmpty(skill, dialect);
  return jsonNow(skillDocument(skill, dialect));
}

/** Only the legacy dialect has skills without versions. @throws BadRequest */
function checkNotEmpty(skill: StoredSkill, dialect: Dialect): void {
  if (skill.latest_id !== null || dialect === "anthropic_legacy") return;
  throw new BadRequest({ detail: `The skill "${skill.id}" has no version. Upload one, or delete it.` });
}

/** `POST /v1/skills/{id}`, for OpenAI's clients: chooses the default version. */
export async function updateStoredSkill(context: RequestContext, params: Params): Promise<Response> {
  const { caller } = context;
  const skill = await skillOf(context, params);
  const { default_version } = await vendorBody(context, defaultVersionBody, MAX_JSON_BYTES);
  const version = await findVersion(context, skill.id, String(default_version));
  if (version === null || !(await setDefault(context, version, caller.key_id))) {
    const detail = `The skill has no version "${firstOf(String(default_version), 64)}".`;
    throw new BadRequest({ detail, param: "default_version" });
  }
  return jsonNow(skillDocument(await skillOf(context, params), dialectOf(context)));
}

export async function deleteStoredSkill(context: RequestContext, params: Params): Promise<Response> {
  const dialect = dialectOf(context);
  const { id } = await skillOf(context, params);
  const removed = await removeSkill(context, id, dialect !== "anthropic_legacy");
  sweepAfterChange(context);
  if (removed) return jsonNow(deletedSkill(id, dialect));
  await skillOf(context, params);
  throw new BadRequest({
    detail: `The skill "${id}" has versions. Delete them first: DELETE /v1/skills/${id}/versions/{version}.`,
  });
}

export async function createStoredSkillVersion(context: RequestContext, params: Params): Promise<Response> {
  const { caller } = context;
  const { id, name } = await skillOf(context, params);
  const sent = await readSentSkill(context);
  if (sent.vendor !== null) {
    const detail = `Versions of this skill are stored here, not at "${sent.vendor}". Leave custom_llm_provider out, or send litellm_proxy.`;
    throw new BadRequest({ detail, param: "custom_llm_provider" });
  }
  const { dialect, ignored, makeDefault, version } = await storeSentSkill(context, sent, name);
  const made = await madeId(context, "version");
  const added = await addVersion(context, id, { by: caller.key_id, version, makeDefault, made });
  sweepAfterChange(context);
  if (added === null) throw new SkillNotFound({ id });
  context.log.stored_skill = `${id}@${added.number}`;
  return noted(jsonNow(versionDocument(added, dialect)), added, ignored);
}

export async function listStoredSkillVersions(context: RequestContext, params: Params): Promise<Response> {
  const { query } = context;
  const dialect = dialectOf(context);
  const openai = dialect === "openai";
  const limit = pageLimit(query, { min: openai ? 0 : 1, max: VERSIONS_LIMIT[dialect] });
  const { id } = await skillOf(context, params);
  const ascending = openai ? ascendingOf(query) : dialect === "anthropic_legacy";
  const named = (name: string) => findVersion(context, id, name);
  const last = openai ? await namedIn(query, "after", "version", named) : null;
  const after = openai ? last && [last.number] : await pageOf(context, query);
  const page = await listVersions(context, id, { limit, after, ascending });
  return pageAnswer(context, page, versionDocument, ({ number }) => number);
}

export async function getStoredSkillVersion(context: RequestContext, params: Params): Promise<Response> {
  const version = await versionOf(context, params);
  return noted(jsonNow(versionDocument(version, dialectOf(context))), version);
}

const REMOVAL: { [dialect in Dialect]: RemovalRule } = {
  anthropic: "keep_one",
  anthropic_legacy: "any",
  openai: "keep_default",
};

export async function deleteStoredSkillVersion(context: RequestContext, params: Params): Promise<Response> {
  const dialect = dialectOf(context);
  const version = await versionOf(context, params);
  const removed = await removeVersion(context, version, REMOVAL[dialect]);
  sweepAfterChange(context);
  if (removed) return jsonNow(deletedVersion(version, dialect));
  const detail =
    dialect === "openai"
      ? "The default version cannot be deleted while there are others. Choose another default first."
      : "The only version of a skill cannot be deleted. Delete the skill, or add a version first.";
  throw new BadRequest({ detail });
}

export async function getStoredSkillContent(context: RequestContext, params: Params): Promise<Response> {
  const skill = await skillOf(context, params);
  checkNotEmpty(skill, "openai");
  return getStoredSkillVersionContent(context, { ...params, version: String(skill.default_number) });
}

/** The version's files as one zip; the same files always give the same bytes, however they were uploaded. */
export async function getStoredSkillVersionContent(
  context: RequestContext,
  params: Params,
): Promise<Response> {
  const version = await versionOf(context, params);
  const gone = (): Error => new SkillNotFound({ id: version.skill, version: params.version ?? "" });
  const { digest } = version;
  const bundle = await findBundle(context, digest);
  if (bundle === null) throw gone();
  const headers = {
    "content-type": "application/zip",
    "content-disposition": contentDisposition("attachment", `${version.name}.zip`),
    "cache-control": "private, no-cache",
    "x-hull-bundle": digest,
  };
  const open = openStored(context.env.FILES, bundle.key, gone);
  return answerBytes(context, { size: bundle.size, etag: `"${digest}"`, headers, open });
}
