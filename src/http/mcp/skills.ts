/**
 * MCP's extension for skills (https://github.com/modelcontextprotocol/ext-skills): `skills/list` and `skills/get`, with the digest of
 * each file. The files themselves are resources.
 */
import { utf8OrNull } from "../../bytes.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { fits } from "../discovery/artifact.ts";
import { type Exchange, listedSkills, type Served, skillOf } from "./exchange.ts";
import { invalidParams, type Outcome } from "./message.ts";
import { filesOf, resourceUri } from "./resources.ts";

export const SKILLS_EXTENSION = "io.modelcontextprotocol/skills";

/** `skills/list`: the skills whose SKILL.md has the name under which they are served. */
export const listSkillEntries = (exchange: Exchange, params: JsonObject): Promise<Outcome> =>
  listedSkills(exchange, params, "skills", async (served) => {
    const entry = await entryOf(exchange, served);
    return entry === null ? [] : [entry];
  });

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
  const own = files.find(({ shown }) => shown === "SKILL.md");
  if (own === undefined || !fits(record)) return null;
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
