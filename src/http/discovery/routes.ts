/**
 * How agents find the skills: `/.well-known/agent-skills/index.json` of the Agent Skills Discovery RFC, version 0.2.0
 * (https://github.com/cloudflare/agent-skills-discovery-rfc), the files that it names, and `/llms.txt` (https://llmstxt.org).
 */
import { PUBLIC_CALLER } from "../../auth/caller.ts";
import { sha256, wellFormedJson } from "../../bytes.ts";
import { SkillNotFound, Unauthenticated } from "../../errors/request.ts";
import { namedFile } from "../../skill/file-lookup.ts";
import type { Card, JsonObject, SkillRecord } from "../../skill/manifest.ts";
import { mediaTypeOf } from "../../skill/media.ts";
import { noneMatch } from "../conditional.ts";
import type { RequestContext } from "../context.ts";
import { guard, sentKey } from "../guard.ts";
import { checkRate } from "../rate.ts";
import { answerBytes, openBytes } from "../representation.ts";
import type { Params } from "../routes.ts";
import { servedTo } from "../served.ts";
import { fits, onlyFile, zipDigest, zipOf } from "./artifact.ts";

const SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";
const INDEX_PATH = "/.well-known/agent-skills/index.json";
/** The permitted form of a name in an index. */
const NAME = /^(?!.{65})[a-z0-9]+(?:-[a-z0-9]+)*$/;
const MAX_DESCRIPTION = 1024;
/** The most skills of an index. */
const MAX_SKILLS = 1000;
/** The most zips to digest in parallel; each is held in memory. */
const AT_ONCE = 4;

/** Points agents to what is available here. */
export const DISCOVERY_LINKS = `<${INDEX_PATH}>; rel="agent-skills"; type="application/json", </llms.txt>; rel="llms-txt"; type="text/plain", </openapi.json>; rel="service-desc"; type="application/json", </docs>; rel="service-doc"; type="text/html"`;

/** `GET /.well-known/agent-skills/index.json`. */
export async function getDiscoveryIndex(context: RequestContext): Promise<Response> {
  const offered = (await visibleCards(context)).filter(isOffered).slice(0, MAX_SKILLS);
  const skills: JsonObject[] = [];
  for (let at = 0; at < offered.length; at += AT_ONCE) {
    const entries = offered.slice(at, at + AT_ONCE).map((card) => entryOf(context, card));
    skills.push(...(await Promise.all(entries)).flat());
  }
  const text = wellFormedJson({ $schema: SCHEMA, skills });
  const etag = `"${(await sha256(text)).slice(0, 32)}"`;
  const headers = { etag, "cache-control": "no-cache" };
  if (noneMatch(context.request, etag)) return new Response(null, { status: 304, headers });
  return new Response(text, {
    headers: { ...headers, "content-type": "application/json", link: DISCOVERY_LINKS },
  });
}

const isOffered = ({ slug, description }: Card): boolean =>
  NAME.test(slug) && description !== "" && description.length <= MAX_DESCRIPTION;

/** The entry of a skill; empty if the skill is too large for a download. */
async function entryOf(context: RequestContext, card: Card): Promise<JsonObject[]> {
  const { slug: name, description, version } = card;
  const record = await context.deployment.registry.readableSkill(version);
  if (record === null || !fits(record)) return [];
  const only = onlyFile(record);
  if (only !== null) {
    const url = `/.well-known/agent-skills/${name}/SKILL.md`;
    return [{ name, type: "skill-md", description, url, digest: `sha256:${only.sha256}` }];
  }
  const digest = `sha256:${await zipDigest(context, version, record)}`;
  return [{ name, type: "archive", description, url: `/.well-known/agent-skills/${name}.zip`, digest }];
}

/** `GET /.well-known/agent-skills/:archive`: the zip of a skill. @throws SkillNotFound */
export async function getDiscoveryArchive(
  context: RequestContext,
  { archive = "" }: Params,
): Promise<Response> {
  const slug = archive.replace(/\.zip$/, "");
  const { card, record } = await found(context, archive.endsWith(".zip") ? slug : "");
  const bytes = await zipOf(context, record);
  const etag = `"${await zipDigest(context, card.version, record)}"`;
  const headers = { "content-type": "application/zip", "cache-control": "no-cache" };
  return answerBytes(context, { size: bytes.length, etag, headers, open: openBytes(bytes) });
}

/** `GET /.well-known/agent-skills/:slug/:path`: a file of a skill. @throws SkillNotFound */
export async function getDiscoveryFile(
  context: RequestContext,
  { slug = "", path = "" }: Params,
): Promise<Response> {
  const { record } = await found(context, slug);
  const file = namedFile(path, record.files);
  const bytes = file === null ? null : await context.deployment.registry.file(record, file);
  if (file === null || bytes === null) throw new SkillNotFound({ id: `${slug}/${path}` });
  const headers = {
    "content-type": mediaTypeOf(path),
    "cache-control": "no-cache",
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox",
  };
  const etag = `"${file.sha256}"`;
  return answerBytes(context, { size: bytes.length, etag, headers, open: openBytes(bytes) });
}

/** The skill of a slug. A missing skill and one that the request may not see cause the same error. */
async function found(context: RequestContext, slug: string): Promise<{ card: Card; record: SkillRecord }> {
  const card = (await visibleCards(context)).find((known) => known.slug === slug && isOffered(known));
  const record = card === undefined ? null : await context.deployment.registry.readableSkill(card.version);
  if (card === undefined || record === null || !fits(record)) throw new SkillNotFound({ id: slug });
  return { card, record };
}

/** `GET /llms.txt`: an overview for models. */
export async function getLlmsText(context: RequestContext): Promise<Response> {
  const cards = (await visibleCards(context)).slice(0, MAX_SKILLS);
  const skills = cards.map(
    ({ slug, name, description, method, route }) =>
      `- [${line(name)}](/skills/${slug}/card): ${line(description)} \`${method} ${route}\``,
  );
  const text = [
    `# ${line(context.settings.name)}`,
    "> Agent skills, served over HTTP and MCP.",
    "## Skills",
    skills.length === 0 ? "None." : skills.join("\n"),
    "## Interfaces",
    [
      `- [Skill files](${INDEX_PATH}): every skill that can be downloaded, with digests`,
      "- [OpenAPI document](/openapi.json): all routes",
      "- [MCP](/mcp): the skills as tools, prompts and resources",
      "- [Models](/v1/models): names for the Messages and chat completions APIs",
    ].join("\n"),
  ].join("\n\n");
  const headers = {
    "content-type": "text/plain; charset=utf-8",
    "cache-control": "no-cache",
    link: DISCOVERY_LINKS,
  };
  return new Response(`${text}\n`, { headers });
}

/** Joins the text to one line, and removes what begins a link. */
const line = (text: string): string => text.replace(/\s+/g, " ").replace(/[[\]]/g, "").trim();

/**
 * The cards of the skills that a request may find, sorted by slug: with a key, those that the key may run; without one,
 * those that hull.toml makes public. Calling this admits the request.
 * @throws as `guard`, if a key is needed or the sent one is wrong
 */
async function visibleCards(context: RequestContext): Promise<readonly Card[]> {
  const { public_skills } = context.settings;
  try {
    await guard(context, "invoke");
  } catch (error) {
    const unknown = !(error instanceof Unauthenticated) || sentKey(context.request) !== null;
    if (unknown || public_skills.length === 0) throw error;
    context.admit(PUBLIC_CALLER);
    await checkRate(context);
    const { cards } = await context.deployment.registry.catalog(context.background);
    return cards.filter(({ slug }) => public_skills.includes(slug));
  }
  await checkRate(context);
  return (await servedTo(context)).cards;
}
