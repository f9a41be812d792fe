/**
 * The OpenAPI document of a catalog. The part that is independent of skills follows from Hull's code alone and takes
 * longer to make than the rest of a build, so it is cached where Node stores its compiled code.
 */
import { readFile } from "node:fs/promises";
import { getCompileCacheDir } from "node:module";
import { dirname, join } from "node:path";
import hull from "../../package.json" with { type: "json" };
import { addSkills } from "../../src/api/add-skills.ts";
import { once } from "../../src/memo.ts";
import type { JsonObject, Manifest } from "../../src/skill/manifest.ts";
import { makeFolder } from "../make-folder.ts";
import { replaceFile } from "../replace-file.ts";
import { codeIdentity } from "./code-identity.ts";

/** The cached content, and the code that made it. */
interface Kept {
  code: string;
  text: string;
}

/**
 * The document as text: it is stored under its SHA-256, and served.
 * @param stale slugs of skills whose folder is broken and whose last good version is served
 */
export async function openapiOf(manifests: readonly Manifest[], stale: ReadonlySet<string>): Promise<string> {
  const document: JsonObject = JSON.parse(await withoutSkills());
  addSkills(document, manifests, stale);
  return JSON.stringify(document);
}

const withoutSkills = once(async (): Promise<string> => {
  const cache = getCompileCacheDir();
  if (cache === undefined) return made();
  const file = join(dirname(cache), "openapi.json");
  const code = codeIdentity();
  try {
    const kept: Kept = JSON.parse(await readFile(file, "utf8"));
    if (kept.code === code) return kept.text;
  } catch {
    // There is no file, or not a complete one.
  }
  const text = await made();
  const kept: Kept = { code, text };
  try {
    await makeFolder(dirname(file));
    await replaceFile(file, JSON.stringify(kept));
  } catch {
    // If nothing can be cached, each process makes it.
  }
  return text;
});

/** Imported on first use; otherwise every command that reads skills would wait for it. */
async function made(): Promise<string> {
  const { openapiDocument } = await import("../../src/api/document.ts");
  return JSON.stringify(openapiDocument(hull.version));
}
