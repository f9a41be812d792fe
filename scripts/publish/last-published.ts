/** Builds in which skills whose folders are broken keep their published versions. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { card } from "../../src/skill/bundle.ts";
import { skillSlug, slugify } from "../../src/skill/slug.ts";
import { workingParts } from "../../src/skill/working-parts.ts";
import { type BuildOptions, type BuildResult, buildRoots } from "../build/build.ts";
import { scanRoots } from "../build/roots.ts";
import type { BuiltSkill } from "../build/skill.ts";
import type { SkillFolder } from "../build/skill-folder.ts";
import type { Project } from "../project.ts";
import type { RegistryClient } from "./registry-client.ts";

/**
 * Builds the project. With `keepGoing`, a broken skill stays at the version that the registry serves, as stale.
 * @param ask returns the registry; `null`: none can be asked. Called only if a skill is broken
 */
export async function buildKeeping(
  project: Project,
  options: BuildOptions,
  ask: () => RegistryClient | null,
): Promise<BuildResult> {
  const whole = await buildRoots(project.roots, options);
  const broken = whole.diagnostics.some(({ diagnostic }) => diagnostic.level === "error");
  const registry = options.keepGoing === true && broken ? ask() : null;
  if (registry === null) return whole;
  const previous = await lastPublished(project, whole.skills, registry);
  return previous.size === 0
    ? whole
    : buildRoots(project.roots, { ...options, keepLastGood: true, previous });
}

/** A line for each skill that stays as it was. */
export const keptLines = (skills: readonly BuiltSkill[]): string =>
  skills
    .filter(({ card: { stale } }) => stale === true)
    .map(({ card: { slug } }) => `${slug} stays as it was published before: its folder is broken.\n`)
    .join("");

/** By absolute folder, those that the registry serves. @param built what the build made from the other folders */
async function lastPublished(
  { roots, dir, config }: Project,
  built: readonly BuiltSkill[],
  registry: RegistryClient,
): Promise<Map<string, BuiltSkill>> {
  const { scans } = scanRoots(roots, dir, config);
  const folders = scans.flatMap(({ scan }) => [...scan.skills, ...scan.refused.map(({ folder }) => folder)]);
  const whole = new Set(built.map(({ folder }) => folder));
  const taken = new Set(built.map(({ card: { slug } }) => slug));
  const found = new Map<string, BuiltSkill>();
  for (const folder of folders) {
    if (whole.has(folder.path)) continue;
    for (const slug of await slugsOf(folder)) {
      const published = taken.has(slug) ? null : await registry.published(slug);
      if (published === null) continue;
      const { digest, record } = published;
      const { manifest, tools = [] } = record;
      const parts = workingParts(record, []);
      // The registry has its objects.
      const stored = { objects: [], contents: async () => new Map<string, never>() };
      const skill = { folder: folder.path, digest, manifest, tools, parts, card: card(record, digest) };
      found.set(folder.path, { ...skill, ...stored });
      break;
    }
  }
  return found;
}

/** The slugs that the skill of a broken folder may have: that of its name, as far as one can see it, and the folder's. */
async function slugsOf({ root, file, name }: SkillFolder): Promise<Set<string>> {
  const text = await readFile(join(root, file), "utf8").catch(() => "");
  const named = /^name:(.*)$/m.exec(text)?.[1] ?? "";
  const slugs = new Set([skillSlug(named, name) ?? "", slugify(name)]);
  slugs.delete("");
  return slugs;
}
