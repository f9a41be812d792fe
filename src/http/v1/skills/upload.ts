/** Reads the form of an upload to `/v1/skills`: single files or a zip, and the other fields. */
import { SKILL_FIELDS } from "../../../api/bodies/v1.ts";
import { bytesWithin } from "../../../bytes.ts";
import { BadRequest, BodyTooLarge, BundleInvalid } from "../../../errors/request.ts";
import { bundledVersion, type NewVersion } from "../../../registry/stored-skills/rows.ts";
import { ArchiveRefused } from "../../../skill/archive-paths.ts";
import type { SourceFile } from "../../../skill/bundle.ts";
import type { UploadRules } from "../../../skill/stored-skill.ts";
import { readZip, ZipTooLarge } from "../../../skill/zip.ts";
import type { RequestContext } from "../../context.ts";
import { fieldText, formParts } from "../../form.ts";
import { isForm } from "../../media-type.ts";
import { type Dialect, dialectOf } from "../dialect.ts";
import { VENDORS } from "./vendor.ts";

/** The most members of a zip; a form may have a few more parts for its fields. */
const MAX_MEMBERS = 10_000;
const MAX_PARTS = MAX_MEMBERS + 10;
const OPENAI_LIMITS = { files: 500, file_bytes: 25 * 1024 * 1024 };
const MAX_LABEL = { anthropic: 255, anthropic_legacy: 64 };
/** The parts that hold files. */
const FILE_PARTS = ["files[]", "files"];
/** The values of `custom_llm_provider` that mean Hull's own store; the empty one means that the field is absent. */
const HERE: readonly string[] = ["", "litellm_proxy"];

interface SkillForm {
  dialect: Dialect;
  label: string | null;
  makeDefault: boolean;
  /** Names of fields that Hull does not read; `x-hull-ignored` has them. */
  ignored: string[];
  version: NewVersion;
}

/** The contents of an upload. */
interface SentSkill {
  files: SentFile[];
  fields: Map<string, string>;
  /** The vendor whose store the client wants; `null`: Hull's own store. */
  vendor: string | null;
}

/**
 * Reads the form of an upload; refuses stores that Hull does not know.
 * @throws BundleInvalid BodyTooLarge BadRequest MalformedMultipart
 */
export async function readSentSkill(context: RequestContext): Promise<SentSkill> {
  const { request, settings } = context;
  if (!isForm(request)) {
    throw new BundleInvalid({
      reason: "it has no SKILL.md; send its files as multipart/form-data in files[]",
    });
  }
  const { parts: files, fields } = await readParts(request, settings.limits.max_upload_bytes);
  if (fields.has("custom_llm_provider")) context.namesProvider = true;
  const named = fields.get("custom_llm_provider");
  const provider = named ?? new URL(request.url).searchParams.get("custom_llm_provider") ?? "";
  if (HERE.includes(provider)) return { files, fields, vendor: null };
  if (VENDORS.includes(provider)) return { files, fields, vendor: provider };
  throw new BadRequest({
    detail: `Skills cannot be stored at ${JSON.stringify(provider)}. custom_llm_provider is one of litellm_proxy, ${VENDORS.join(", ")}; leave it out to store them here.`,
    param: "custom_llm_provider",
  });
}

/**
 * Checks an upload for Hull's own store, and stores its bundle.
 * @param name that the skill must have; `null` means any
 * @throws BundleInvalid BodyTooLarge BadRequest
 */
export async function storeSentSkill(
  context: RequestContext,
  { files: parts, fields }: SentSkill,
  name: string | null,
): Promise<SkillForm> {
  const { max_upload_bytes: limit } = context.settings.limits;
  const dialect = dialectOf(context);
  const label = dialect === "openai" ? null : labelOf(fields, dialect);
  const makeDefault = isDefault(fields);
  const files = await unpacked(parts, limit);
  // Imported on first use, because it imports the YAML parser.
  const { readStoredSkill } = await import("../../../skill/stored-skill.ts");
  const skill = await readStoredSkill(files, rulesOf(dialect, name));
  return {
    dialect,
    label,
    makeDefault,
    ignored: [...fields.keys()].filter((field) => !SKILL_FIELDS.includes(field)),
    version: await bundledVersion(context, skill),
  };
}

interface SentFile {
  name: string;
  bytes: Uint8Array<ArrayBuffer>;
}

async function readParts(
  request: Request,
  limit: number,
): Promise<{ parts: SentFile[]; fields: Map<string, string> }> {
  const parts: SentFile[] = [];
  const fields = new Map<string, string>();
  try {
    for await (const part of formParts(request, limit, MAX_PARTS)) {
      const { name, filename, body } = part;
      if (filename === null || !FILE_PARTS.includes(name)) {
        fields.set(name, SKILL_FIELDS.includes(name) ? await fieldText(part) : "");
        continue;
      }
      const bytes = await bytesWithin(body, limit);
      if (bytes === null) throw tooLarge(limit);
      parts.push({ name: filename, bytes });
    }
  } catch (error) {
    if (error instanceof BodyTooLarge) throw tooLarge(limit);
    throw error;
  }
  return { parts, fields };
}

const tooLarge = (limit: number): Error => new BodyTooLarge({ limit, setting: "limits.max_upload_bytes" });

/** Decides by the first bytes, whatever media type the part declares. */
const isZip = ({ bytes }: SentFile): boolean =>
  bytes[0] === 0x50 && bytes[1] === 0x4b && bytes[2] === 0x03 && bytes[3] === 0x04;

async function unpacked(parts: readonly SentFile[], limit: number): Promise<SourceFile[]> {
  const [first] = parts;
  if (first === undefined)
    throw new BundleInvalid({ reason: "it has no SKILL.md: the form has no part files[]" });
  if (parts.length === 1 && isZip(first)) return unzipped(first, limit);
  const hasSkillFile = parts.some(({ name }) => /(?:^|\/)skill\.md$/i.test(name));
  if (parts.some(isZip) && !hasSkillFile) {
    throw new BundleInvalid({ reason: "a zip has to be the only file of the upload" });
  }
  if (parts.length === 1 && !hasSkillFile) {
    const reason = `it has no SKILL.md: its only file, ${JSON.stringify(first.name)}, is no zip`;
    throw new BundleInvalid({ reason });
  }
  const flat = parts.every(({ name }) => !name.includes("/"));
  const names = parts.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (flat && twice !== undefined) {
    const reason = `two files are called ${JSON.stringify(twice)}; older clients send names without their folders, so send a zip`;
    throw new BundleInvalid({ reason });
  }
  return parts.map(({ name, bytes }) => ({ path: name, mode: 0o644, bytes }));
}

async function unzipped({ bytes }: SentFile, limit: number): Promise<SourceFile[]> {
  try {
    return await readZip(bytes, { max_bytes: limit, max_entries: MAX_MEMBERS });
  } catch (error) {
    if (error instanceof ZipTooLarge) throw tooLarge(limit);
    throw error instanceof ArchiveRefused ? new BundleInvalid({ reason: error.reason }) : error;
  }
}

function rulesOf(dialect: Dialect, name: string | null): UploadRules {
  const openai = dialect === "openai";
  return {
    wants_directory: dialect === "anthropic_legacy",
    checks_directory: !openai,
    max_files: openai ? OPENAI_LIMITS.files : MAX_MEMBERS,
    max_file_bytes: openai ? OPENAI_LIMITS.file_bytes : null,
    one_skill_file: openai,
    name,
  };
}

/** @throws BadRequest */
function isDefault(fields: ReadonlyMap<string, string>): boolean {
  const sent = fields.get("default") ?? "";
  if (["true", "false", ""].includes(sent)) return sent === "true";
  const detail = `default must be true or false, not ${JSON.stringify(sent)}.`;
  throw new BadRequest({ detail, param: "default" });
}

/** @throws BadRequest */
function labelOf(
  fields: ReadonlyMap<string, string>,
  dialect: "anthropic" | "anthropic_legacy",
): string | null {
  const param = fields.has("display_name") ? "display_name" : "display_title";
  const label = fields.get(param) ?? null;
  if (label === null || label === "") return null;
  const max = MAX_LABEL[dialect];
  if (Array.from(label).length <= max && !/[\u0000-\u001f\u007f\u2028\u2029]/.test(label)) return label;
  throw new BadRequest({ detail: `${param} must be one line of at most ${max} characters.`, param });
}
