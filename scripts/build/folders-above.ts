/** What the folders of a collection say about the author of a skill. */
import { slugify } from "../../src/skill/slug.ts";

/** Folders that structure a collection, but do not name the author of their skills. */
const LAYOUT = new Set([
  "skills",
  "skill",
  "plugins",
  "packages",
  "src",
  "agents",
  "claude",
  "codex",
  "cursor",
  "gemini",
  "github",
  "opencode",
]);

/** The folders that lead to a folder, without those that only structure a collection, as a part of a slug. */
export const foldersAbove = (path: string): string =>
  path
    .split(/[/\\]/)
    .slice(0, -1)
    .map(slugify)
    .filter((name) => name !== "" && !LAYOUT.has(name))
    .join("-");
