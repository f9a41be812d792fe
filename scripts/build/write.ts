/** Writes a build to a folder: immutable objects by digest first, the pointer last. */
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { CatalogPointer } from "../../src/skill/manifest.ts";
import { makeFolder } from "../make-folder.ts";
import { removeLeftovers, replaceFile } from "../replace-file.ts";
import type { BuildResult } from "./build.ts";
import { mapLimited } from "./map-limited.ts";
import { PluginFolders } from "./shared-folder.ts";

/** Name of the pointer file, which corresponds to KV `catalog:current`. */
const POINTER_FILE = "catalog.current.json";
/** Names of the files of a build; its folder may hold others. */
const OWN_FILE = /^(?:[\da-f]{64}|diagnostics\.json|catalog\.current\.json)$/;

/**
 * Writes `skill/<digest>`, `pack/<sha256>`, `blob/<sha256>`, `module/<sha256>`, `openapi/<sha256>` and `catalog/<id>`,
 * only missing ones, then `diagnostics.json`, and last the pointer. Without a catalog it writes only the diagnostics,
 * so that an earlier pointer stays. Returns the pointer, `null` without a catalog.
 */
export async function writeBuild(
  outDir: string,
  result: BuildResult,
  now: Date,
): Promise<CatalogPointer | null> {
  const { catalog } = result;
  await makeFolder(outDir);
  await removeLeftovers(outDir, OWN_FILE);
  if (catalog !== null) {
    for (const kind of ["skill", "pack", "blob", "module", "openapi", "catalog"]) {
      await makeFolder(join(outDir, kind));
      await removeLeftovers(join(outDir, kind), OWN_FILE);
    }
    const plugins = new PluginFolders();
    await mapLimited(result.skills, async (skill) => {
      for (const [name, bytes] of await skill.contents(plugins))
        await writeMissing(join(outDir, name), bytes);
    });
    await writeMissing(join(outDir, "openapi", catalog.openapi.digest), catalog.openapi.text);
    await writeMissing(join(outDir, "catalog", catalog.id), catalog.json);
  }
  const diagnostics = result.diagnostics.map(({ diagnostic }) => diagnostic);
  await replaceFile(join(outDir, "diagnostics.json"), `${JSON.stringify(diagnostics, null, 2)}\n`);
  if (catalog === null) return null;
  const path = join(outDir, POINTER_FILE);
  const earlier = await readPointer(path);
  if (earlier?.id === catalog.id) return earlier;
  const pointer = { id: catalog.id, previous: earlier?.id ?? null, published_at: now.toISOString() };
  await replaceFile(path, `${JSON.stringify(pointer)}\n`);
  return pointer;
}

async function readPointer(path: string): Promise<CatalogPointer | null> {
  const text = await readFile(path, "utf8").catch(() => null);
  if (text === null) return null;
  try {
    const { id, previous = null, published_at }: Partial<CatalogPointer> = JSON.parse(text);
    return id === undefined || published_at === undefined ? null : { id, previous, published_at };
  } catch {
    return null;
  }
}

async function writeMissing(path: string, content: string | Uint8Array): Promise<void> {
  const size = typeof content === "string" ? Buffer.byteLength(content) : content.length;
  const existing = await stat(path).catch(() => null);
  if (existing?.size !== size) await replaceFile(path, content);
}
