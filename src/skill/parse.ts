/**
 * Turns SKILL.md into a normalised manifest. A skill with fields of Hull must follow their rules; any other is a plain
 * Agent Skill, which Hull serves as an llm skill. Pure: the build and the Worker's uploads share it. Import it lazily
 * in the Worker, since it evaluates the `yaml` module.
 */
import { utf8OrNull } from "../bytes.ts";
import { readActivation } from "./activation.ts";
import { readAgentSkill, unifySpelling } from "./agent-skill.ts";
import { checkFile, readBundledCommand, type SkillFiles } from "./command.ts";
import { readDaemon } from "./daemon.ts";
import type { Values } from "./field-kinds.ts";
import {
  type Readers,
  readFields,
  readRequiredText,
  stripControls,
  warnUnknown,
  wrongType,
} from "./fields.ts";
import { noteSize, reportEncoding, SAVE_AS_UTF8 } from "./file-findings.ts";
import { decodeText } from "./file-text.ts";
import { Findings } from "./findings.ts";
import { FOREIGN_MODELS, warnMissed } from "./foreign-fields.ts";
import { type PlaceInBody, readFrontmatter, reportRemedies } from "./frontmatter/read.ts";
import { liftHullFields } from "./hull-fields.ts";
import { interfaceOf, readInputMime, readOutputMime, readRoute, readSchema } from "./interface-fields.ts";
import { type KnownProviders, SHIPPED } from "./known-providers.ts";
import { checkNoModel, readFallback, readModel, readProvider, targetOf } from "./llm.ts";
import type { Diagnostic, JsonObject, Manifest, Mode } from "./manifest.ts";
import {
  CARRIED_FIELDS,
  COMMON_FIELDS,
  KNOWN_FIELDS,
  LLM_FIELDS,
  PLAIN_FIELDS,
  PROXY_FIELDS,
} from "./manifest-fields.ts";
import { readMcpServers } from "./mcp-servers.ts";
import { mediaTypeOf } from "./media.ts";
import { checkModeFields, readMode } from "./mode.ts";
import { readHeaderNames, readHeaders, readProxyUrl } from "./proxy.ts";
import { skillSlug } from "./slug.ts";
import { readToolEnv } from "./tool-env.ts";
import { splitAllowedTools } from "./tool-names.ts";
import { namesTools, readTools } from "./tools.ts";
import {
  child,
  items,
  type MapNode,
  mapToJson,
  type Position,
  type Slot,
  stringOf,
  textOf,
  toJson,
} from "./tree.ts";

const TOP = { path: "", at: { line: 1, column: 1 } };

export interface ParseSource {
  /**
   * Folder name: the skill's name in diagnostics, and the source of the slug if `name` has no ASCII letter or digit.
   */
  folder: string;
  /** Path of SKILL.md relative to the root, for diagnostics. */
  file: string;
  /** The slug to use if another skill has the slug of its name. */
  slug?: string;
  /** The bundled files; without them, checks of files are skipped. */
  files?: SkillFiles;
  /** The model providers of the deployment; absent: the shipped ones. */
  providers?: KnownProviders;
}

export interface ParsedSkill {
  /** `null` if there is any error. */
  manifest: Manifest | null;
  /** Markdown below the frontmatter, trimmed. */
  body: string;
  placeInBody: PlaceInBody;
  /** Whether it has fields of Hull; else it is a plain Agent Skill. */
  serving: boolean;
  diagnostics: Diagnostic[];
  /** The position of each top-level field, for later findings. */
  positions: ReadonlyMap<string, Position>;
}

/**
 * Parses and checks one SKILL.md. Reports every problem, not only the first.
 * @param content the file's bytes, or its text if known to be UTF-8
 */
export function parseManifest(content: Uint8Array | string, source: ParseSource): ParsedSkill {
  const findings = new Findings(source.folder, source.file);
  const { text, fault } = typeof content === "string" ? { text: content, fault: null } : decodeText(content);
  const { root, body, placeInBody, remedies } = readFrontmatter(text, findings);
  const fields = root === null ? null : unifySpelling(liftHullFields(root, findings), KNOWN_FIELDS);
  const serving = fields !== null && isServing(fields);
  if (fault !== null) reportEncoding(findings, fault, serving || root === null);
  reportRemedies(findings, remedies, serving);
  const readable = fields !== null && !(serving && findings.failed);
  const manifest = readable ? (serving ? readManifest : readPlain)(findings, fields, body, source) : null;
  if (!serving && manifest !== null) noteSize(findings, text, body);
  return {
    manifest: findings.failed ? null : manifest,
    body,
    placeInBody,
    serving,
    diagnostics: findings.list,
    positions: new Map(Array.from(fields?.entries ?? [], ([key, entry]) => [key, entry.keyAt])),
  };
}

/** Whether a frontmatter has fields of Hull, in a shape that does not belong to another client. */
function isServing(root: MapNode): boolean {
  return KNOWN_FIELDS.some((field) => {
    const node = root.entries.get(field)?.value;
    if (node === undefined || PLAIN_FIELDS.includes(field)) return false;
    // Names of tools that the skill wants, not definitions.
    if (field === "tools")
      return node.kind === "list"
        ? node.items.every((item) => item.kind === "map")
        : node.kind === "map" && !namesTools(node);
    return field !== "model" || !FOREIGN_MODELS.includes(textOf(node) ?? "");
  });
}

/** A plain Agent Skill: an llm skill whose body is the system prompt. */
function readPlain(findings: Findings, root: MapNode, body: string, source: ParseSource): Manifest | null {
  const read = readAgentSkill(findings, root, body, source.folder, KNOWN_FIELDS);
  if (read === null) return null;
  const { name, slug: ofName, description, extra: _, body: __, ...carried } = read;
  const slug = source.slug ?? ofName;
  if (slug === null) {
    reportNoSlug(findings, child(root, "name"), source.folder);
    return null;
  }
  const none: MapNode = { ...root, entries: new Map() };
  const unknown = Array.from(root.entries).filter(([key]) => !PLAIN_FIELDS.includes(key));
  return {
    name,
    slug,
    description,
    ...settingsOf(readSettings(findings, none, "llm", slug, source), "llm", source),
    ...carried,
    extra: mapToJson({ ...root, entries: new Map(unknown) }),
  };
}

function reportNoSlug(findings: Findings, slot: Slot | undefined, folder: string): void {
  findings.error(
    "slug_empty",
    slot ?? TOP,
    `Neither the name nor the folder ${folder} has an ASCII letter or digit, so the skill would have no address.`,
    "Give the folder an ASCII name; the name may stay as it is.",
  );
}

function readManifest(
  findings: Findings,
  given: MapNode,
  body: string,
  source: ParseSource,
): Manifest | null {
  const root = withoutToolNames(findings, given);
  const nameSlot = child(root, "name");
  const name = readRequiredText(findings, TOP, "name", nameSlot)?.replace(/\s+/g, " ");
  const description = readRequiredText(findings, TOP, "description", child(root, "description"));
  const mode = readMode(findings, root);
  const slug = name === undefined ? null : (source.slug ?? skillSlug(name, source.folder));
  if (name !== undefined && slug === null) reportNoSlug(findings, nameSlot, source.folder);
  if (mode !== undefined) checkModeFields(findings, root, mode);
  const settings = readSettings(findings, root, mode, slug ?? source.folder, source);
  const carried = readFields(findings, root, TOP, CARRIED_FIELDS, {
    "allowed-tools": (at) => readAllowedTools(findings, at),
  });
  const activation = readActivation(findings, root, mode);
  if (mode === "llm" && body === "") {
    findings.error(
      "body_empty",
      { at: TOP.at },
      "An llm skill needs a body: the text below the frontmatter is its system prompt.",
      "Write the instructions for the model below the closing ---.",
    );
  }
  const others = Array.from(root.entries.keys()).filter((key) => !KNOWN_FIELDS.includes(key));
  const missed = warnMissed(findings, root, others);
  const rest = new Map([...root.entries].filter(([key]) => !missed.includes(key)));
  warnUnknown(findings, { ...root, entries: rest }, "", KNOWN_FIELDS);
  const unknown = new Set(others);
  if (name === undefined || description === undefined || mode === undefined || slug === null) return null;
  const extra: JsonObject = Object.fromEntries(
    Object.entries(mapToJson(given)).filter(([key]) => unknown.has(key) || !root.entries.has(key)),
  );
  return { name, slug, description, ...settingsOf(settings, mode, source), ...carried, ...activation, extra };
}

/** The fields that Hull reads. They lack a `tools` that only names tools, about which there is a warning. */
function withoutToolNames(findings: Findings, root: MapNode): MapNode {
  const tools = root.entries.get("tools");
  if (tools === undefined || !namesTools(tools.value)) return root;
  warnMissed(findings, root, ["tools"]);
  const entries = new Map(root.entries);
  entries.delete("tools");
  return { ...root, entries };
}

/** The values of Hull's own fields. */
interface Settings {
  common: Values<typeof COMMON_FIELDS>;
  proxy: Values<typeof PROXY_FIELDS>;
  llm: Values<typeof LLM_FIELDS>;
}

function readSettings(
  findings: Findings,
  root: MapNode,
  mode: Mode | undefined,
  slug: string,
  { files, providers = SHIPPED }: ParseSource,
): Settings {
  const keys = providers.key_variables;
  const own = `/skills/${slug}`;
  const common = readFields(findings, root, TOP, COMMON_FIELDS, {
    mode: () => mode,
    run: (at) => readBundledCommand(findings, at, files),
    serve: (at) => readServe(findings, at, files),
    tool_env: (at) => {
      if (mode === "proxy" || mode === "static-file") {
        const message = `tool_env has no effect in mode: ${mode}; only scripts and tools are processes.`;
        findings.warning("field_of_other_mode", at, message, "Remove tool_env.");
      }
      return readToolEnv(findings, at, keys);
    },
    input_mime: (at, read) => readInputMime(findings, at, read, mode),
    input_schema: (at, read) => readSchema(findings, at, read, mode, files),
    output_mime: (at) => readOutputMime(findings, at),
    route: (at) => readRoute(findings, at, own),
    daemon: (at) => readDaemon(findings, at, mode),
  });
  checkServed(findings, child(root, "serve"), common, files);
  const proxy = readFields(findings, root, TOP, PROXY_FIELDS, {
    proxy: (at) => readProxyUrl(findings, at),
    proxy_url: (at) => readProxyUrl(findings, at),
    headers: (at) => readHeaders(findings, at),
    forward_headers: (at) => readHeaderNames(findings, at),
    return_headers: (at) => readHeaderNames(findings, at),
  });
  const ofModel: Readers<typeof LLM_FIELDS> = {
    tools: (at) => readTools(findings, at, files),
    mcp_servers: (at) => readMcpServers(findings, at, keys, files),
    provider: (at) => readProvider(findings, at, providers),
    model: (at) => readModel(findings, at),
    fallback: (at) => readFallback(findings, at, providers),
  };
  const llm = readFields(findings, root, TOP, LLM_FIELDS, ofModel, {
    missing: { model: ({ provider }) => checkNoModel(findings, provider, root, providers) },
  });
  return { common: { ...common, route: common.route || own }, proxy, llm };
}

/** What the values mean in a manifest. */
function settingsOf({ common, proxy, llm }: Settings, mode: Mode, { providers = SHIPPED }: ParseSource) {
  const { url, method = null } = proxy;
  const { provider, model = null, ...ofModel } = llm;
  const fallback = llm.fallback.map((text) => targetOf(text, providers));
  return {
    ...common,
    ...interfaceOf(common, mode),
    mode,
    ...(url === undefined ? {} : { proxy: { ...proxy, url, method } }),
    ...(mode === "llm" ? { llm: { ...ofModel, target: { provider, model }, fallback } } : {}),
  };
}

function readServe(findings: Findings, slot: Slot, files: SkillFiles | undefined): string | undefined {
  const path = stringOf(slot.node)?.trim() ?? "";
  if (path === "") wrongType(findings, slot, "the path of a file in the skill's folder");
  else if (files === undefined) return path;
  else return checkFile(findings, slot, path, files);
  return undefined;
}

/** Warns of a file that Hull serves as UTF-8 although it is something else, so that readers get other letters. */
function checkServed(
  findings: Findings,
  slot: Slot | undefined,
  { serve = "", output_mime: type = mediaTypeOf(serve) }: Settings["common"],
  files: SkillFiles | undefined,
): void {
  const bytes = files?.get(serve);
  if (slot === undefined || bytes === undefined || !/; *charset="?utf-8/i.test(type)) return;
  if (utf8OrNull(bytes) !== null) return;
  const other = type.replace(/;.*/, "; charset=windows-1252");
  findings.warning(
    "serve_encoding",
    slot,
    `${serve} is not UTF-8, but Hull serves it as ${type}.`,
    `${SAVE_AS_UTF8} Or name its encoding, as in output_mime: ${other}`,
  );
}

/** A list, or text split on blanks and commas outside parentheses: `Bash(git add:*), Read`. */
function readAllowedTools(findings: Findings, slot: Slot): string[] | undefined {
  const entries = slot.node.kind === "list" ? items(slot.node, slot.path) : [slot];
  const texts = entries.map((entry) => toJson(entry.node));
  if (texts.every((text) => typeof text === "string")) return splitAllowedTools(texts.map(stripControls));
  wrongType(findings, slot, "a string or a list of strings");
  return undefined;
}
