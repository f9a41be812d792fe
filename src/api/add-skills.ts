/** Adds uploaded skills to the document of a catalog, in the Worker. Pure. */
import { objectOf } from "../skill/json.ts";
import type { JsonObject, Manifest } from "../skill/manifest.ts";
import { byteOrder } from "../skill/path.ts";
import { Components } from "./components.ts";
import { skillOperations } from "./skill-routes.ts";

/**
 * Adds skills to a document, as if it had been made with them; their routes must be free.
 * @param document is changed in place
 */
export function addSkills(document: JsonObject, manifests: readonly Manifest[]): void {
  const existing = objectOf(document.components);
  const components = new Components(existing);
  const paths = objectOf(document.paths);
  for (const manifest of [...manifests].sort((a, b) => byteOrder(a.slug, b.slug))) {
    paths[manifest.route] = skillOperations(manifest, components);
  }
  for (const kind of ["responses", "requestBodies", "schemas"] as const)
    existing[kind] = components.all(kind);
}
