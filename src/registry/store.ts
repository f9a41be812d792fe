/** Writes the registry: immutable objects under their digest. */

import * as z from "zod/mini";
import { sha256, utf8 } from "../bytes.ts";
import type { Bindings, Owner } from "../env.ts";
import { BundleInvalid } from "../errors/request.ts";
import type { AssembledSkill } from "../skill/assemble.ts";
import { parsedFile } from "../skill/json-depth.ts";
import { catalogShape, skillRecordShape } from "../skill/manifest.ts";
import { MAX_KV_BYTES } from "./kv-limit.ts";
import { UPLOADED } from "./published.ts";
import { putValue } from "./put-value.ts";
import { noteObjects } from "./uploaded-objects.ts";

/** Stores one object named `<kind>/<sha256>` and returns its key. @throws BundleInvalid */
export async function storeObject(env: Bindings, name: string, bytes: Uint8Array): Promise<string> {
  const [, kind, digest] = /^(skill|pack|blob|module|catalog|openapi)\/([0-9a-f]{64})$/.exec(name) ?? [];
  if (kind === undefined || digest === undefined) {
    throw new BundleInvalid({ reason: `the entry "${name}" is not <kind>/<sha256>` });
  }
  const actual = await sha256(new Uint8Array(bytes));
  if (actual !== digest) throw new BundleInvalid({ reason: `the entry "${name}" has the SHA-256 ${actual}` });
  checkShape(kind, name, bytes);
  const key = `${kind}:${digest}`;
  await putObject(env, key, bytes);
  return key;
}

async function putObject(env: Bindings, key: string, bytes: Uint8Array): Promise<void> {
  if (bytes.length > MAX_KV_BYTES) await env.FILES.put(key, bytes);
  else await putValue(env, key, bytes);
}

/** Stores the parts of a tenant's skill, so that a sweep can remove them. */
export async function storeUpload(owner: Owner, skill: AssembledSkill): Promise<void> {
  const { digest, recordJson } = skill;
  const parts = partsOf(skill);
  const own = `skill:${digest}`;
  const keys = [...parts.map(([key]) => key), own].map((key) => UPLOADED + key);
  // While a sweep removes some of them, they go where nobody removes anything.
  const place = (await noteObjects(owner, digest, keys)) ? UPLOADED : "";
  await Promise.all(parts.map(([key, bytes]) => putObject(owner.env, place + key, bytes)));
  await putObject(owner.env, place + own, utf8(recordJson));
}

/** The objects of a skill by their keys, without the record. */
function partsOf({ record, pack, blob, modules }: AssembledSkill): [string, Uint8Array][] {
  const parts: [string, Uint8Array][] = modules.map(({ sha256, bytes }) => [`module:${sha256}`, bytes]);
  if (record.pack !== null) parts.push([`pack:${record.pack}`, pack]);
  if (blob !== null) parts.push([`blob:${blob.sha256}`, blob.bytes]);
  return parts;
}

function checkShape(kind: string, name: string, bytes: Uint8Array): void {
  const result = SHAPES.get(kind)?.safeParse(parsedFile(bytes));
  if (result === undefined || result.success) return;
  const issue = result.error.issues[0];
  throw new BundleInvalid({ reason: `the entry "${name}": ${issue?.path.join(".")}: ${issue?.message}` });
}

/** The minimal shape of a stored OpenAPI document. */
const openapiShape = z.lazy(() => z.looseObject({ openapi: z.string().check(z.startsWith("3.1.")) }));

/** The shapes of the objects that are JSON, by kind. */
const SHAPES: ReadonlyMap<string, z.ZodMiniType> = new Map<string, z.ZodMiniType>([
  ["skill", skillRecordShape],
  ["catalog", catalogShape],
  ["openapi", openapiShape],
]);

/** Keys of the stored objects that a publish may take as its own, a page at a time. */
export async function objectKeys(
  env: Bindings,
  cursor: string | null,
): Promise<{ data: string[]; next_cursor: string | null }> {
  const page = await env.SKILLS.list(cursor === null ? {} : { cursor });
  const keys = page.keys.map(({ name }) => name).filter((name) => !name.startsWith(UPLOADED));
  return { data: keys, next_cursor: page.list_complete ? null : page.cursor };
}

/** @throws BundleInvalid */
export async function checkStored(env: Bindings, catalog: string): Promise<void> {
  if ((await env.SKILLS.get(`catalog:${catalog}`, "stream")) !== null) return;
  throw new BundleInvalid({ reason: `the catalog ${catalog} is not stored here` });
}
