/** Adds skills to an OpenAPI document: in the build those of a catalog, in the Worker those of uploads. Pure. */
import { objectOf } from "../skill/json.ts";
import type { JsonObject, Manifest } from "../skill/manifest.ts";
import { byteOrder } from "../skill/path.ts";
import { Components } from "./components.ts";
import { skillOperations } from "./skill-routes.ts";

/**
 * Adds skills to a document, as if it had been made with them; their routes must be free.
 * @param document is changed in place
 * @param stale slugs of skills whose folder is broken and whose last good version is served
 */
export function addSkills(
  document: JsonObject,
  manifests: readonly Manifest[],
  stale: ReadonlySet<string> = new Set(),
): void {
  const existing = objectOf(document.components);
  const components = new Components(existing);
  const paths = objectOf(document.paths);
  for (const manifest of [...manifests].sort((a, b) => byteOrder(a.slug, b.slug))) {
    paths[manifest.route] = skillOperations(shown(manifest, stale), components);
  }
  for (const kind of ["responses", "requestBodies", "schemas"] as const)
    existing[kind] = components.all(kind);
}

function shown(manifest: Manifest, stale: ReadonlySet<string>): Manifest {
  if (!stale.has(manifest.slug)) return manifest;
  const description = `${manifest.description} (Stale: the folder is broken, and its last good version is served.)`;
  return { ...manifest, description };
}
