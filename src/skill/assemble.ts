/**
 * From the files of a skill folder to what is published of it: checked, recorded, packed. The build and the Worker's
 * uploads share it. Import it lazily in the Worker, since it evaluates the `yaml` module.
 */

import { card, type Hash, makeRecord, type SourceFile, webCryptoHash } from "./bundle.ts";
import { findHooks, type HookReader } from "./hooks.ts";
import { type KnownProviders, SHIPPED } from "./known-providers.ts";
import type { Card, Diagnostic, SkillRecord } from "./manifest.ts";
import { type ParsedSkill, parseManifest } from "./parse.ts";
import { checkUploaded } from "./uploaded.ts";

/** A skill as it goes into the registry. */
export interface AssembledSkill {
  digest: string;
  record: SkillRecord;
  /** Canonical JSON of `record`; its SHA-256 is `digest`. */
  recordJson: string;
  /** For KV `pack:<sha256>`. */
  pack: Uint8Array<ArrayBuffer>;
  /** The `serve` file of a static-file skill, for KV `blob:<sha256>`. */
  blob: { sha256: string; bytes: Uint8Array<ArrayBuffer> } | null;
  /** Its hook module, for KV `module:<sha256>`. */
  module: { sha256: string; bytes: Uint8Array<ArrayBuffer> } | null;
  card: Card;
}

export interface Assembly {
  /** `null` where there is any error. */
  skill: AssembledSkill | null;
  positions: ParsedSkill["positions"];
  diagnostics: Diagnostic[];
}

export interface AssembleOptions {
  /** Folder name: the skill's name in diagnostics, and the slug where `name` has no ASCII letter or digit. */
  folder: string;
  /** Path of SKILL.md, for diagnostics. */
  file: string;
  hash?: Hash;
  /** Providers that it may name; absent: those that Hull ships. */
  providers?: KnownProviders;
  /** Makes a module of its hooks. Absent: hooks are not read. */
  hooks?: HookReader;
  /** The tenant that uploaded it. Absent: a folder of the deployment's own, which is trusted. */
  uploadedBy?: string;
}

/** Checks a skill and makes its bundle. Every problem of its SKILL.md is reported, not only the first. */
export async function assembleSkill(
  files: readonly SourceFile[],
  { folder, file, hash = webCryptoHash, providers = SHIPPED, hooks, uploadedBy }: AssembleOptions,
): Promise<Assembly> {
  const byPath = new Map(files.map(({ path, bytes }) => [path, bytes]));
  const text = decode(byPath.get("SKILL.md"));
  if (text === null) {
    const message = "SKILL.md is not valid UTF-8.";
    const hint = "Save the file as UTF-8.";
    const diagnostic: Diagnostic = { level: "error", code: "encoding", skill: folder, file, message, hint };
    return { skill: null, positions: new Map(), diagnostics: [diagnostic] };
  }
  const parsed = parseManifest(text, { folder, file, files: byPath, providers });
  const { manifest, body, positions, diagnostics } = parsed;
  if (manifest === null) return { skill: null, positions, diagnostics };
  if (uploadedBy !== undefined) diagnostics.push(...checkUploaded(manifest, { folder, file, positions }));
  const read = hooks === undefined ? null : await findHooks(files, { folder, file }, hooks);
  diagnostics.push(...(read?.diagnostics ?? []));
  if (diagnostics.some(({ level }) => level === "error")) return { skill: null, positions, diagnostics };
  const made = read?.hooks ?? null;
  const module = made === null ? null : { sha256: await hash(made.bytes), bytes: made.bytes };
  const bundle = await makeRecord(manifest, body, files, hash, {
    ...(made === null || module === null ? {} : { hooks: { module: module.sha256, exports: made.exports } }),
    ...(uploadedBy === undefined ? {} : { uploaded_by: uploadedBy }),
  });
  const bytes = manifest.serve === undefined ? undefined : byPath.get(manifest.serve);
  const skill: AssembledSkill = {
    digest: bundle.digest,
    record: bundle.record,
    recordJson: bundle.json,
    pack: bundle.pack,
    blob: bytes === undefined ? null : { sha256: await hash(bytes), bytes },
    module,
    card: card(bundle.record, bundle.digest),
  };
  return { skill, positions, diagnostics };
}

function decode(bytes: Uint8Array | undefined): string | null {
  if (bytes === undefined) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
