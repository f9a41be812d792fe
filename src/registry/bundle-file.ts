/** One file of a skill's folder, from where the bundle keeps it: by itself, or in the pack. */
import type { Bindings } from "../env.ts";
import type { BundledFile, SkillRecord } from "../skill/manifest.ts";
import { TarReader } from "../skill/tar.ts";
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
  return pack === null ? null : keptFile(env, file, () => unpacked(env, pack, file.path));
}

async function unpacked(env: Bindings, pack: string, path: string): Promise<Uint8Array | null> {
  const reader = new TarReader();
  // What is left of the pack when the file is found, is not read.
  for await (const chunk of await readBytes(env, "pack", pack)) {
    const found = reader.push(new Uint8Array(chunk)).find((file) => file.path === path);
    if (found !== undefined) return found.bytes.slice();
  }
  return null;
}
