/** Fields of Hull below `metadata: hull:`, where the Agent Skills format permits unknown keys. */
import type { Findings } from "./findings.ts";
import { FORMAT_FIELDS } from "./manifest-fields.ts";
import type { MapNode } from "./tree.ts";

/**
 * The frontmatter with the fields of `metadata.hull` at its top level, and `metadata` without them. Without such a
 * mapping the frontmatter stays unchanged.
 * @param findings gets fields that belong to the format, and fields that occur in both places
 */
export function liftHullFields(root: MapNode, findings: Findings): MapNode {
  const metadata = root.entries.get("metadata");
  if (metadata?.value.kind !== "map") return root;
  const own = metadata.value.entries.get("hull");
  if (own?.value.kind !== "map") return root;
  const entries = new Map(root.entries);
  const others = new Map(metadata.value.entries);
  others.delete("hull");
  if (others.size === 0) entries.delete("metadata");
  else entries.set("metadata", { ...metadata, value: { ...metadata.value, entries: others } });
  for (const [key, entry] of own.value.entries) {
    const location = { path: `metadata.hull.${key}`, at: entry.keyAt };
    if (FORMAT_FIELDS.includes(key)) {
      findings.error(
        "hull_field",
        location,
        `The field ${key} belongs to the Agent Skills format.`,
        "Move it to the top level.",
      );
    } else if (root.entries.has(key)) {
      findings.error(
        "hull_field",
        location,
        `The field ${key} is both at the top level and below metadata.hull.`,
        "Keep one of the two.",
      );
    } else entries.set(key, entry);
  }
  return { ...root, entries };
}
