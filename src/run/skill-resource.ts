/** `read_skill_resource` in agent runs: files of served skills, read from their packs on request. */

import { toBase64, unmarkedUtf8 } from "../bytes.ts";
import { plainResult } from "../engine/agent/call-results.ts";
import type { AgentToolResult } from "../engine/agent/records.ts";
import { MAX_SLICE_CHARS, SLICE_CHARS } from "../engine/agent/skill-resource.ts";
import type { AgentSpec } from "../engine/agent/spec.ts";
import { feedbackMessage } from "../engine/agent/texts.ts";
import type { Part } from "../engine/messages.ts";
import type { SkillRegistry } from "../registry/published.ts";
import { fileNamed } from "../skill/file-lookup.ts";
import { skillFileName } from "../skill/file-text.ts";
import type { BundledFile, JsonObject, SkillRecord } from "../skill/manifest.ts";
import { nearest } from "../skill/match.ts";
import { isTextType, mediaTypeOf } from "../skill/media.ts";
import { insidePath, pluginPath } from "../skill/path.ts";
import type { RunContext } from "./context.ts";

/** An isolate serves several runs, so programs must read larger files. */
const MAX_READ_BYTES = 8 * 1024 * 1024;
/** The size that providers accept and that fits into a record of the session. */
const MAX_IMAGE_BYTES = 1024 * 1024;
const IMAGE_TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** What a model gets of a file. */
interface ReadResource {
  ok: boolean;
  content: string;
  /** Shown together with the text. */
  parts?: Part[];
}

/**
 * Answers one call. The engine has already checked that the run has the skill, and that the path is inside it.
 * @param own the skill that the run is, if already loaded
 */
export async function readSkillFile(
  { deployment: { registry } }: RunContext,
  { own_skill, skills, model }: AgentSpec,
  own: SkillRecord | null,
  args: JsonObject,
): Promise<AgentToolResult> {
  const started = Date.now();
  const known = own_skill === undefined ? skills : [own_skill, ...skills];
  const skill = known.find(({ name }) => name === args.skill);
  const record = await (own !== null && skill === own_skill ? own : recordOf(registry, skill?.digest));
  const { ok, content, parts } = await readResource(registry, record, args, model.vision !== false);
  const result = plainResult(ok ? "ok" : "error", content, ok ? null : "tool_error");
  const shown = parts === undefined ? {} : { parts };
  return { ...result, ...shown, duration_ms: Date.now() - started };
}

const recordOf = async (registry: SkillRegistry, digest: string | undefined): Promise<SkillRecord | null> =>
  digest === undefined ? null : registry.skill(digest);

/**
 * @param record `null`: the skill does not exist
 * @param images whether the model takes them
 */
async function readResource(
  registry: SkillRegistry,
  record: SkillRecord | null,
  { skill, path, offset, limit }: JsonObject,
  images: boolean,
): Promise<ReadResource> {
  const found = record === null ? null : fileOf(registry, record, String(path));
  if (found === null) {
    const paths = record?.files.map((one) => one.path) ?? [];
    const near = nearest(String(path), paths, 3);
    const hint = near.length === 0 ? "" : ` Did you mean ${near.join(", ")}?`;
    return failed(`The skill ${String(skill)} has no file ${String(path)}.${hint}`);
  }
  const { file, read } = found;
  const type = mediaTypeOf(file.path);
  const image = IMAGE_TYPES.includes(type);
  const facts = { path: file.path, size_bytes: file.size, mime: type };
  if (file.size > (image ? MAX_IMAGE_BYTES : MAX_READ_BYTES)) return ok(JSON.stringify(facts));
  if (image && !images) return ok(JSON.stringify(facts));
  const bytes = await read();
  if (bytes === null) return failed(`The file ${file.path} is not stored.`);
  if (image) {
    const name = `${String(skill)}/${file.path}`;
    const parts: Part[] = [
      { type: "text", text: feedbackMessage("skill_resource", `The image ${name}:`) },
      { type: "image", media_type: type, data: toBase64(bytes) },
    ];
    return { ...ok(JSON.stringify(facts)), parts };
  }
  const text = textOf(bytes, type);
  if (text === null) return ok(JSON.stringify(facts));
  return ok(slice(text, file.path, Number(offset ?? 0), Number(limit ?? SLICE_CHARS)));
}

interface FoundFile {
  file: BundledFile;
  read(): Promise<Uint8Array | null>;
}

/** Finds a file of the skill or of its plugin; `SKILL.md` finds the skill's file, whatever its name. */
function fileOf(registry: SkillRegistry, record: SkillRecord, given: string): FoundFile | null {
  const { files, plugin } = record;
  const { folder, skill = "" } = plugin ?? {};
  const outside = folder === undefined ? null : pluginPath(given, skill);
  if (folder !== undefined && outside !== null) {
    const file = named(folder.files, outside);
    return file === null ? null : { file, read: () => registry.packed(folder.pack, file) };
  }
  const own = insidePath(given) === "SKILL.md" ? skillFileName(files.map(({ path }) => path)) : null;
  const file = named(files, own ?? given);
  return file === null ? null : { file, read: () => registry.file(record, file) };
}

function named(files: readonly BundledFile[], given: string): BundledFile | null {
  const path = fileNamed(
    given,
    files.map((file) => file.path),
  );
  return files.find((file) => file.path === path) ?? null;
}

/** `null`: the bytes are not text, whatever the name says. */
function textOf(bytes: Uint8Array, type: string): string | null {
  if (!isTextType(type) && bytes.subarray(0, 8192).includes(0)) return null;
  return unmarkedUtf8(bytes);
}

/** A part of a text, never cut within a character, and a hint how to continue. */
function slice(text: string, path: string, offset: number, limit: number): string {
  const wanted = Math.min(text.length, offset + Math.min(limit, MAX_SLICE_CHARS));
  const inside = /[\uD800-\uDBFF]/.test(text.charAt(wanted - 1)) && wanted < text.length;
  const end = inside ? wanted + 1 : wanted;
  const next = end < text.length ? `, next_offset ${end}` : "";
  const head = `${path}: characters ${Math.min(offset, text.length)} to ${end} of ${text.length}${next}`;
  return `[${head}]\n${text.slice(offset, end)}`;
}

const ok = (content: string): ReadResource => ({ ok: true, content });
const failed = (error: string): ReadResource => ({ ok: false, content: JSON.stringify({ error }) });
