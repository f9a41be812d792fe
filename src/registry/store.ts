/** Writes the registry: immutable objects under their digest. */

import * as z from "zod/mini";
import { sha256, utf8 } from "../bytes.ts";
import type { Bindings } from "../env.ts";
import { BundleInvalid } from "../errors/request.ts";
import type { AssembledSkill } from "../skill/assemble.ts";
import { parsedFile } from "../skill/json-depth.ts";
import { catalogShape, skillRecordShape } from "../skill/manifest.ts";
import { MAX_KV_BYTES } from "./kv-limit.ts";

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
  else await env.SKILLS.put(key, bytes);
}

/** Stores the parts of an upload, under the keys of published skills. */
export async function storeSkill(env: Bindings, skill: AssembledSkill): Promise<void> {
  const { digest, record, recordJson, pack, blob, modules } = skill;
  if (record.pack !== null) await putObject(env, `pack:${record.pack}`, pack);
  if (blob !== null) await putObject(env, `blob:${blob.sha256}`, blob.bytes);
  for (const { sha256, bytes } of modules) await putObject(env, `module:${sha256}`, bytes);
  await putObject(env, `skill:${digest}`, utf8(recordJson));
}

function checkShape(kind: string, name: string, bytes: Uint8Array): void {
  if (kind === "pack" || kind === "blob" || kind === "module") return;
  const result = shapeOf(kind).safeParse(parsedFile(bytes));
  if (result.success) return;
  const issue = result.error.issues[0];
  throw new BundleInvalid({ reason: `the entry "${name}": ${issue?.path.join(".")}: ${issue?.message}` });
}

/** The minimal shape of a stored OpenAPI document. */
const openapiShape = z.lazy(() => z.looseObject({ openapi: z.string().check(z.startsWith("3.1.")) }));

function shapeOf(kind: string): z.ZodMiniType {
  if (kind === "openapi") return openapiShape;
  return kind === "skill" ? skillRecordShape : catalogShape;
}

/** Keys of stored objects, a page at a time. */
export async function objectKeys(
  env: Bindings,
  cursor: string | null,
): Promise<{ data: string[]; next_cursor: string | null }> {
  const page = await env.SKILLS.list(cursor === null ? {} : { cursor });
  return { data: page.keys.map((key) => key.name), next_cursor: page.list_complete ? null : page.cursor };
}

/** @throws BundleInvalid */
export async function checkStored(env: Bindings, catalog: string): Promise<void> {
  if ((await env.SKILLS.get(`catalog:${catalog}`, "stream")) !== null) return;
  throw new BundleInvalid({ reason: `the catalog ${catalog} is not stored here` });
}
