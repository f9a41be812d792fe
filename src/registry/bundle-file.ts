/** One file of a skill's folder, from where the bundle keeps it: by itself, or in the pack. */
import type { Bindings } from "../env.ts";
import type { BundledFile, SkillRecord } from "../skill/manifest.ts";
import { readTarFile } from "../skill/tar.ts";
import { keptFile, readBlob, readBytes } from "./published.ts";

/** The bytes of a file of the bundle; `null` for a bundle of an earlier build, which kept only what it ran. */
export async function readBundleFile(
  env: Bindings,
  { manifest, pack }: SkillRecord,
  file: BundledFile,
): Promise<Uint8Array | null> {
  if (file.path === manifest.serve) {
    return new Uint8Array(await new Response(await readBlob(env, file)).arrayBuffer());
  }
  return pack === null ? null : readPackedFile(env, pack, file);
}

/** The bytes of a file of a pack; `null`: the pack lacks it. */
export function readPackedFile(env: Bindings, pack: string, file: BundledFile): Promise<Uint8Array | null> {
  return keptFile(env, file, async () => readTarFile(await readBytes(env, "pack", pack), file.path));
}
