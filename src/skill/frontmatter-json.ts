/** The fields of a SKILL.md as JSON, each as written. */
import { Findings } from "./findings.ts";
import { readFrontmatter } from "./frontmatter/read.ts";
import type { JsonObject } from "./manifest.ts";
import { mapToJson } from "./tree.ts";

/** `null`: the file has no readable fields. */
export function frontmatterOf(text: string): JsonObject | null {
  const { root } = readFrontmatter(text, new Findings("", "SKILL.md"));
  return root === null ? null : mapToJson(root);
}
