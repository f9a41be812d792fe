/**
 * Turns tools.json into tools: uses what it can, and reports the rest as findings with lines. A faulty tool is left out
 * and does not affect the others. Pure.
 */

import { firstOf } from "../../cut.ts";
import { checkFile, checkLineEnds, type SkillFiles } from "../command.ts";
import { warnUnknown, wrongType } from "../fields.ts";
import { SAVE_AS_UTF8 } from "../file-findings.ts";
import { decodeText } from "../file-text.ts";
import type { Findings } from "../findings.ts";
import type { SkillTool } from "../manifest.ts";
import { child, items, type MapNode, type Position, type Slot, stringOf } from "../tree.ts";
import { readExtensions } from "./extension-keys.ts";
import { parseJsonTree } from "./json-tree.ts";
import { readParameters } from "./parameters.ts";
import { FORMAT_FIELDS } from "./tool-fields.ts";

/** Counts only at the root of a skill; deeper files of this name are data. */
export const TOOLS_FILE = "tools.json";
const MAX_BYTES = 4 * 1024 * 1024;
const NAME = /^[a-z][a-z0-9_]{0,63}$/;
/** Hull's own tools, which no skill may replace. */
export const RESERVED_TOOLS: readonly string[] = [
  "load_skill",
  "read_skill_resource",
  "define_tool",
  "remove_tool",
];

/** A declared tool, before the place of its handler is decided. */
export interface ToolDraft extends Omit<SkillTool, "tier" | "tier_reason" | "module"> {
  /** The tier that the author requests. */
  wanted: "isolate" | "runner" | null;
  /** Position of the tool in its file, or of its `script` if it has one. */
  at: Position;
  /** Dotted path of the same, e.g. `[0].script`. */
  field: string;
}

export interface ToolsSource {
  /** The bundled files; without them handlers are not checked. */
  files?: SkillFiles;
  /** Variables that hold provider keys. */
  keyVariables: readonly string[];
  /** Names that the skill's own frontmatter already gives to commands. */
  taken?: readonly string[];
}

interface ReadTools {
  /** Those without errors. */
  tools: ToolDraft[];
  /** Names of tools with errors; `null`: the list itself cannot be read. */
  faulty: string[] | null;
}

/** Reads a manifest of tools. @param findings about the file */
export function readToolsJson(
  findings: Findings,
  content: Uint8Array | string,
  source: ToolsSource,
): ReadTools {
  const list = readList(findings, content);
  const tools: ToolDraft[] = [];
  const faulty = findings.failed ? null : new Set<string>();
  const lines = new Map<string, number>();
  for (const slot of list) {
    const own = findings.part();
    const tool = readTool(own, slot, source);
    const earlier = tool === null ? undefined : lines.get(tool.name);
    if (tool !== null && earlier !== undefined) {
      own.error(
        "duplicate_tool",
        { path: `${slot.path}.name`, at: slot.at },
        `A tool ${tool.name} is already declared on line ${earlier}; Hull uses the first one.`,
        "Rename one of them.",
      );
    } else if (tool !== null) {
      lines.set(tool.name, slot.at.line);
    }
    if (tool !== null && !own.failed) tools.push(tool);
    else if (tool !== null && earlier === undefined) faulty?.add(tool.name);
  }
  return { tools, faulty: faulty && [...faulty] };
}

function readList(findings: Findings, content: Uint8Array | string): Slot[] {
  const { text, fault } = typeof content === "string" ? { text: content, fault: null } : decodeText(content);
  if (fault !== null) {
    const message = `tools.json ${fault.is}; the skill gets no tools from it.`;
    findings.error("manifest_json", { at: fault.at }, message, SAVE_AS_UTF8);
    return [];
  }
  if (text.length > MAX_BYTES) {
    const message = `tools.json is larger than ${MAX_BYTES} bytes (4 MiB); the skill gets no tools from it.`;
    findings.error("manifest_json", {}, message);
    return [];
  }
  const tree = parseJsonTree(text);
  if ("fault" in tree) {
    const { message, at } = tree.fault;
    findings.error(
      "manifest_json",
      { at },
      `tools.json is not valid JSON: ${message}`,
      "Until it is fixed, the skill has no tools; hull dev keeps the last good version.",
    );
    return [];
  }
  for (const { key, at } of tree.repeated) {
    findings.warning(
      "duplicate_key",
      { at },
      `The key ${key} occurs twice in one object; Hull uses this one.`,
      "Remove one of them.",
    );
  }
  if (tree.node.kind === "list") return items(tree.node, "");
  const foreign = tree.node.kind === "map" && tree.node.entries.get("tools")?.value.kind === "list";
  findings.error(
    "manifest_not_array",
    { at: tree.node.at },
    foreign
      ? 'tools.json is an object with a list "tools", as in other formats; Hull does not read it.'
      : "tools.json must be an array of tools, even if there is only one.",
    foreign ? 'Keep only the list: [{"name": …}, …].' : 'Write [{"name": "…", "description": "…"}].',
  );
  return [];
}

function readTool(findings: Findings, slot: Slot, source: ToolsSource): ToolDraft | null {
  if (slot.node.kind !== "map") {
    findings.warning(
      "tool_incomplete",
      slot,
      `The tool ${slot.path} is not an object, so Hull leaves it out.`,
    );
    return null;
  }
  const map = slot.node;
  const name = readName(findings, slot, map, source);
  const description = readWord(findings, slot, map, "description");
  if (name === null || description === null) return null;
  const plain: MapNode = {
    ...map,
    entries: new Map([...map.entries].filter(([key]) => !key.startsWith("x-"))),
  };
  warnUnknown(findings, plain, slot.path, Object.keys(FORMAT_FIELDS));
  const parameters = readParameters(findings, child(map, "parameters", slot.path));
  const { tier, input_schema, ...extensions } = readExtensions(findings, slot, map, source.keyVariables);
  const scriptSlot = child(map, "script", slot.path);
  const script = readScript(findings, scriptSlot, source.files);
  if (script === undefined && tier !== undefined) {
    findings.warning("tier_without_script", slot, `The tool ${name} has no script, so x-tier has no effect.`);
  }
  return {
    name,
    description,
    parameters: input_schema ?? parameters,
    ...(script === undefined ? {} : { script }),
    ...extensions,
    wanted: tier ?? null,
    at: scriptSlot?.at ?? slot.at,
    field: scriptSlot?.path ?? slot.path,
  };
}

function readName(findings: Findings, slot: Slot, map: MapNode, { taken = [] }: ToolsSource): string | null {
  const name = readWord(findings, slot, map, "name");
  const at = child(map, "name", slot.path);
  if (name === null || at === undefined) return null;
  if (!NAME.test(name)) {
    const message = `The tool name ${JSON.stringify(firstOf(name, 80))} is not accepted, so Hull leaves the tool out.`;
    findings.warning("tool_name", at, message, "A name is 1 to 64 of a-z0-9_, the first a letter.");
    return null;
  }
  if (RESERVED_TOOLS.includes(name)) {
    findings.warning(
      "tool_reserved",
      at,
      `${name} is one of Hull's own tools, so Hull leaves this one out.`,
      "Rename it.",
    );
    return null;
  }
  if (taken.includes(name)) {
    const message = `SKILL.md has a tool ${name} of its own; Hull uses that one and leaves this one out.`;
    findings.warning("tool_taken", at, message, "Rename one of the two.");
    return null;
  }
  return name;
}

/** `name` or `description`; a tool without either is left out. */
function readWord(findings: Findings, slot: Slot, map: MapNode, key: "name" | "description"): string | null {
  const at = child(map, key, slot.path);
  const value = at === undefined ? null : stringOf(at.node);
  if (value !== null && value.trim() !== "") return key === "name" ? value : value.trim();
  const message = `The tool ${slot.path} has no ${key}, so Hull leaves it out.`;
  findings.warning(
    "tool_incomplete",
    at ?? { path: `${slot.path}.${key}`, at: slot.at },
    message,
    `Give it a ${key}, as a string.`,
  );
  return null;
}

function readScript(
  findings: Findings,
  slot: Slot | undefined,
  files: SkillFiles | undefined,
): string | undefined {
  if (slot === undefined) return undefined;
  const value = stringOf(slot.node);
  if (value === null || value === "") {
    wrongType(
      findings,
      slot,
      "the path of a file in the skill's folder",
      'Write for example "scripts/count.js".',
    );
    return undefined;
  }
  const script = files === undefined ? value : checkFile(findings, slot, value, files);
  if (files !== undefined && !/\.(?:py|[cm]?[jt]s)$/.test(value))
    checkLineEnds(findings, slot, script, files);
  if (script !== undefined && !script.startsWith("scripts/")) {
    findings.info(
      "script_place",
      slot,
      `The handler ${script} is outside scripts/, where the format expects handlers.`,
    );
  }
  return script;
}
