/**
 * MCP's extension for skills (https://github.com/modelcontextprotocol/ext-skills): `skills/list` and `skills/get`, with the digest of
 * each file. The files themselves are resources.
 */
import { utf8OrNull } from "../../bytes.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { cursorAfter, keyOf } from "./cursor.ts";
import { type Exchange, type Served, skillOf, skillsAfter } from "./exchange.ts";
import { invalidParams, type Outcome } from "./message.ts";
import { filesOf, resourceUri } from "./resources.ts";

export const SKILLS_EXTENSION = "io.modelcontextprotocol/skills";
/** Limits that every client accepts. */
const MAX_FILES = 512;
const MAX_BYTES = 16 * 1024 * 1024;

/** `skills/list`: the skills whose SKILL.md has the name under which they are served. */
export async function listSkillEntries(exchange: Exchange, params: JsonObject): Promise<Outcome> {
  const key = keyOf(params);
  if (key === null) return invalidParams("The cursor does not belong to this list.");
  const { skills, last } = await skillsAfter(exchange, key);
  const entries = await Promise.all(skills.map((served) => entryOf(exchange, served)));
  const shown = entries.filter((entry) => entry !== null);
  return { result: { skills: shown, ...(last === null ? {} : { nextCursor: cursorAfter(last) }) } };
}

/** `skills/get`: one of them, by the URI of its SKILL.md. */
export async function getSkillEntry(exchange: Exchange, { uri }: JsonObject): Promise<Outcome> {
  const slug = typeof uri === "string" ? /^skill:\/\/([a-z0-9-]+)\/SKILL\.md$/.exec(uri)?.[1] : undefined;
  const served = slug === undefined ? null : await skillOf(exchange, slug);
  const skill = served === null ? null : await entryOf(exchange, served);
  return skill === null ? invalidParams("No skill has this uri.") : { result: { skill } };
}

/** The entry of a skill; `null` if clients would accept no description of it. */
async function entryOf({ context }: Exchange, served: Served): Promise<JsonObject | null> {
  const { record } = served;
  const files = filesOf(served);
  const size = files.reduce((sum, file) => sum + file.size, 0);
  const own = files.find(({ shown }) => shown === "SKILL.md");
  if (own === undefined || files.length > MAX_FILES || size > MAX_BYTES) return null;
  const bytes = await context.deployment.registry.file(record, own);
  const text = bytes === null ? null : utf8OrNull(bytes);
  if (text === null) return null;
  // Imported on first use, because it imports the YAML parser.
  const { frontmatterOf } = await import("../../skill/frontmatter-json.ts");
  const frontmatter = frontmatterOf(text);
  if (frontmatter?.name !== record.manifest.slug || typeof frontmatter.description !== "string") return null;
  return {
    uri: resourceUri(record.manifest.slug, "SKILL.md"),
    frontmatter,
    resources: files.map(({ shown, sha256, size }) => ({
      uri: resourceUri(record.manifest.slug, shown),
      digest: `sha256:${sha256}`,
      size,
    })),
  };
}
