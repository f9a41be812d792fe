/** The download of a skill: its SKILL.md if there is nothing else, else a zip of its folder. */
import { sha256 } from "../../bytes.ts";
import { Internal } from "../../errors.ts";
import { readBytes } from "../../registry/published.ts";
import { skillFileName } from "../../skill/file-text.ts";
import type { BundledFile, SkillRecord } from "../../skill/manifest.ts";
import { readTar } from "../../skill/tar.ts";
import { packZip } from "../../skill/zip-write.ts";
import type { RequestContext } from "../context.ts";

/** The most files and bytes of a skill that clients must accept; larger skills are not offered. */
const MAX_FILES = 512;
const MAX_BYTES = 16 * 1024 * 1024;

/** Whether clients can download the skill. */
export function fits({ files }: Pick<SkillRecord, "files">): boolean {
  return files.length <= MAX_FILES && files.reduce((sum, { size }) => sum + size, 0) <= MAX_BYTES;
}

/** The single file of a skill; `null`: it has several. */
export function onlyFile({ files }: Pick<SkillRecord, "files">): BundledFile | null {
  const [first, second] = files;
  return first !== undefined && second === undefined && first.path === "SKILL.md" ? first : null;
}

/** The zip of a skill, always with the same bytes. */
export async function zipOf(
  { deployment, env }: Pick<RequestContext, "deployment" | "env">,
  record: SkillRecord,
): Promise<Uint8Array<ArrayBuffer>> {
  const { pack, manifest, files } = record;
  const packed =
    pack === null
      ? []
      : readTar(new Uint8Array(await new Response(await readBytes(env, "pack", pack)).arrayBuffer()));
  const known = new Map(packed.map(({ path, bytes }) => [path, bytes]));
  const own = skillFileName(files.map(({ path }) => path));
  const members = files.map(async (file) => {
    const served = file.path === manifest.serve;
    const bytes = known.get(file.path) ?? (served ? await deployment.registry.file(record, file) : null);
    return { path: file.path === own ? "SKILL.md" : file.path, mode: file.mode, bytes };
  });
  const found = await Promise.all(members);
  if (found.some(({ bytes }) => bytes === null))
    throw new Internal({ cause: `${manifest.slug} lacks files` });
  return packZip(found.flatMap(({ bytes, ...file }) => (bytes === null ? [] : [{ ...file, bytes }])));
}

/** SHA-256 of that zip, which an isolate caches. @param version of the skill */
export async function zipDigest(
  context: Pick<RequestContext, "deployment" | "env">,
  version: string,
  record: SkillRecord,
): Promise<string> {
  const { zipDigests } = context.deployment;
  const known = zipDigests.get(version);
  if (known !== undefined) return known;
  const digest = await sha256(await zipOf(context, record));
  zipDigests.set(version, digest);
  return digest;
}
