/** The objects of a publish: immutable, named by kind and SHA-256. */
import type { CatalogBundle } from "../../src/skill/bundle.ts";
import { PluginFolders } from "../build/shared-folder.ts";
import type { BuiltSkill } from "../build/skill.ts";

/** A built set of skills with its catalog. */
export interface Publication {
  skills: readonly BuiltSkill[];
  catalog: CatalogBundle;
}

export interface RegistryObject {
  /** `<kind>/<sha256>`; with `:` instead of `/` it is the key in KV or R2. */
  name: string;
  bytes: Uint8Array;
}

/** Names of all objects of a catalog. */
export function objectNames({ skills, catalog }: Publication): Set<string> {
  const names = new Set(skills.flatMap(({ objects }) => objects));
  return names.add(`openapi/${catalog.openapi.digest}`).add(`catalog/${catalog.id}`);
}

/** Yields the objects that `has` does not know, one after the other, the catalog last; the others are not even read. */
export async function* missingObjects(
  { skills, catalog }: Publication,
  has: (name: string) => boolean,
): AsyncGenerator<RegistryObject> {
  const given = new Set<string>();
  const plugins = new PluginFolders();
  const wanted = (name: string): boolean => !has(name) && !given.has(name);
  for (const skill of skills) {
    if (!skill.objects.some(wanted)) continue;
    for (const [name, bytes] of await skill.contents(plugins)) {
      if (wanted(name)) yield { name, bytes };
      given.add(name);
    }
  }
  for (const [name, text] of [
    [`openapi/${catalog.openapi.digest}`, catalog.openapi.text],
    [`catalog/${catalog.id}`, catalog.json],
  ] as const) {
    if (wanted(name)) yield { name, bytes: new TextEncoder().encode(text) };
  }
}

/** The most objects of a group: a request may make 1,000 calls of KV. */
const MAX_OBJECTS = 500;

/** Groups of at most about `maxBytes`, at least one object each. */
export async function* batches(
  objects: AsyncIterable<RegistryObject>,
  maxBytes: number,
): AsyncGenerator<RegistryObject[]> {
  let batch: RegistryObject[] = [];
  let size = 0;
  for await (const object of objects) {
    if (batch.length === MAX_OBJECTS || (batch.length > 0 && size + object.bytes.length > maxBytes)) {
      yield batch;
      batch = [];
      size = 0;
    }
    batch.push(object);
    size += object.bytes.length;
  }
  if (batch.length > 0) yield batch;
}
