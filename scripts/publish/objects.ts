/** What a publish sends (serving.md §1): immutable objects, named by kind and SHA-256. */
import type { CatalogBundle } from "../../src/skill/bundle.ts";
import type { BuiltSkill } from "../build/build.ts";

export interface RegistryObject {
  /** `<kind>/<sha256>`; with `:` for `/` its key in KV or R2. */
  name: string;
  bytes: Uint8Array;
}

/** What a catalog consists of, itself last. */
export function objectsOf(skills: readonly BuiltSkill[], catalog: CatalogBundle): RegistryObject[] {
  const objects = new Map<string, Uint8Array>();
  for (const { digest, record, recordJson, pack, blob } of skills) {
    objects.set(`skill/${digest}`, new TextEncoder().encode(recordJson));
    if (pack !== null && record.pack !== null) objects.set(`pack/${record.pack}`, pack);
    if (blob !== null) objects.set(`blob/${blob.sha256}`, blob.bytes);
  }
  objects.set(`openapi/${catalog.openapi.digest}`, new TextEncoder().encode(catalog.openapi.text));
  objects.set(`catalog/${catalog.id}`, new TextEncoder().encode(catalog.json));
  return [...objects].map(([name, bytes]) => ({ name, bytes }));
}

/** Groups of at most about `maxBytes`, at least one object each. */
export function* batches(objects: readonly RegistryObject[], maxBytes: number): Generator<RegistryObject[]> {
  let batch: RegistryObject[] = [];
  let size = 0;
  for (const object of objects) {
    if (batch.length > 0 && size + object.bytes.length > maxBytes) {
      yield batch;
      batch = [];
      size = 0;
    }
    batch.push(object);
    size += object.bytes.length;
  }
  if (batch.length > 0) yield batch;
}
