/** From a skill folder to what is published of it (serving.md §1), before the skills are compared with each other. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { card, type Hash, makeRecord, type SourceFile } from "../../src/skill/bundle.ts";
import type { Card, Diagnostic, Manifest } from "../../src/skill/manifest.ts";
import { type ParsedSkill, parseManifest } from "../../src/skill/parse.ts";
import { CommandError, EXIT } from "../command.ts";
import { type FoundFile, type Grounds, listFiles, type SkillFolder } from "./scan.ts";

export interface BuiltSkill {
  /** Absolute path of the source folder: the key of `previous` and of the cache. */
  folder: string;
  digest: string;
  manifest: Manifest;
  card: Card;
  /** Names (`<kind>/<sha256>`) of what the registry holds of it, the record last. */
  objects: readonly string[];
  /** The bytes of `objects`, by name. */
  contents(): Promise<ReadonlyMap<string, Uint8Array<ArrayBuffer>>>;
}

/** What came of one folder. */
export interface Outcome {
  folder: SkillFolder;
  skill: BuiltSkill | null;
  positions: ParsedSkill["positions"];
  diagnostics: Diagnostic[];
}

/** All bundled bytes of one skill; more does not belong into a bundle that travels to a runner. */
const MAX_SKILL_BYTES = 256 * 1024 * 1024;

export const nodeHash: Hash = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** Reads, checks and bundles the files of a folder. @param diagnostics what listing them has found */
export async function readSkill(
  folder: SkillFolder,
  found: readonly FoundFile[],
  diagnostics: Diagnostic[],
): Promise<Outcome> {
  const broken = (positions: Outcome["positions"]): Outcome => ({
    folder,
    skill: null,
    positions,
    diagnostics,
  });
  const total = found.reduce((sum, file) => sum + file.stats.size, 0);
  if (total > MAX_SKILL_BYTES) {
    diagnostics.push(
      problem(
        folder,
        "skill_too_large",
        `The folder holds ${total} bytes; at most ${MAX_SKILL_BYTES} (256 MiB) can be bundled.`,
        "List what the skill does not need in .hullignore.",
      ),
    );
    return broken(new Map());
  }
  const files: SourceFile[] = [];
  for (const { path, absolute, stats } of found) {
    const bytes = new Uint8Array(await readFile(absolute));
    files.push({ path, bytes, mode: (stats.mode & 0o111) === 0 ? 0o644 : 0o755 });
  }
  const byPath = new Map(files.map((file) => [file.path, file.bytes]));
  const text = decode(byPath.get("SKILL.md"));
  if (text === null) {
    diagnostics.push(problem(folder, "encoding", "SKILL.md is not valid UTF-8.", "Save the file as UTF-8."));
    return broken(new Map());
  }
  const parsed = parseManifest(text, { folder: folder.name, file: folder.file, files: byPath });
  diagnostics.push(...parsed.diagnostics);
  const { manifest, positions } = parsed;
  if (manifest === null || diagnostics.some((d) => d.level === "error")) return broken(positions);
  const { digest, record, json, pack } = await makeRecord(manifest, parsed.body, files, nodeHash);
  const contents = new Map<string, Uint8Array<ArrayBuffer>>();
  if (pack !== null) contents.set(`pack/${record.pack}`, pack);
  const served = byPath.get(manifest.serve ?? "");
  if (served !== undefined) contents.set(`blob/${await nodeHash(served)}`, served);
  contents.set(`skill/${digest}`, new Uint8Array(new TextEncoder().encode(json)));
  const skill: BuiltSkill = {
    folder: folder.path,
    digest,
    manifest,
    card: card(record, digest),
    objects: [...contents.keys()],
    contents: async () => contents,
  };
  return { folder, skill, positions, diagnostics };
}

/** Reads a folder again, of which the digest is known already. @throws CommandError where it is another by now */
export async function readAgain(
  folder: SkillFolder,
  grounds: Grounds,
  digest: string,
): Promise<ReadonlyMap<string, Uint8Array<ArrayBuffer>>> {
  const { files, diagnostics } = listFiles(folder, grounds);
  const { skill } = await readSkill(folder, files, diagnostics);
  if (skill?.digest === digest) return skill.contents();
  throw new CommandError(EXIT.failed, "skill_changed", `${folder.path} was changed meanwhile.`, "Try again.");
}

function problem(folder: SkillFolder, code: string, message: string, hint: string): Diagnostic {
  return { level: "error", code, skill: folder.name, file: folder.file, message, hint };
}

function decode(bytes: Uint8Array | undefined): string | null {
  if (bytes === undefined) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
