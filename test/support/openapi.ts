import { addSkills } from "../../src/api/add-skills.ts";
import { openapiDocument } from "../../src/api/document.ts";
import type { JsonObject, Manifest } from "../../src/skill/manifest.ts";

/** The OpenAPI document of a deployment with these skills. */
export function documentWith(manifests: readonly Manifest[], version: string): JsonObject {
  const document = openapiDocument(version);
  addSkills(document, manifests);
  return document;
}
