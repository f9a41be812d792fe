/** `read_skill_resource` in agent runs: files of served skills, read from their packs on request. */

import { plainResult } from "../engine/agent/call-results.ts";
import type { AgentToolResult } from "../engine/agent/records.ts";
import { MAX_SLICE_CHARS, SLICE_CHARS } from "../engine/agent/skill-resource.ts";
import { skillsOf } from "../engine/agent/skill-text.ts";
import type { AgentSpec } from "../engine/agent/spec.ts";
import type { Part } from "../engine/messages.ts";
import type { SkillRegistry } from "../registry/published.ts";
import { namedFile } from "../skill/file-lookup.ts";
import { skillFileName } from "../skill/file-text.ts";
import type { BundledFile, JsonObject, SkillRecord } from "../skill/manifest.ts";
import { nearest } from "../skill/match.ts";
import { mediaTypeOf } from "../skill/media.ts";
import { insidePath, pluginPath } from "../skill/path.ts";
import type { RunContext } from "./context.ts";
import { fileText, IMAGE_TYPES, MAX_IMAGE_BYTES, MAX_TEXT_BYTES, mediaParts } from "./shown-file.ts";

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
  spec: AgentSpec,
  own: SkillRecord | null,
  args: JsonObject,
): Promise<AgentToolResult> {
  const started = Date.now();
  const skill = skillsOf(spec).find(({ name }) => name === args.skill);
  const { digest } = skill ?? {};
  const loaded = own !== null && skill === spec.own_skill ? own : null;
  const record = loaded ?? (digest === undefined ? null : await registry.skill(digest));
  const { ok, content, parts } = await readResource(registry, record, args, spec.model.vision !== false);
  const result = plainResult(ok ? "ok" : "error", content, ok ? null : "tool_error");
  const shown = parts === undefined ? {} : { parts };
  return { ...result, ...shown, duration_ms: Date.now() - started };
}

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
  if (file.size > (image ? MAX_IMAGE_BYTES : MAX_TEXT_BYTES)) return ok(JSON.stringify(facts));
  if (image && !images) return ok(JSON.stringify(facts));
  const bytes = await read();
  if (bytes === null) return failed(`The file ${file.path} is not stored.`);
  if (image) {
    const parts = mediaParts("skill_resource", `The image ${String(skill)}/${file.path}:`, type, bytes);
    return { ...ok(JSON.stringify(facts)), parts };
  }
  const text = fileText(bytes, type);
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
  const name = insidePath(given) === "SKILL.md" ? skillFileName(files.map(({ path }) => path)) : null;
  const own = outside === null ? namedFile(name ?? given, files) : null;
  if (own !== null) return { file: own, read: () => registry.file(record, own) };
  // A skill made of a plugin's command has only its text, and links to the files around that.
  const path = outside ?? insidePath(`${skill}/${given}`);
  if (folder === undefined || path === null) return null;
  const file = namedFile(path, folder.files);
  return file === null ? null : { file, read: () => registry.packed(folder.pack, file) };
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
