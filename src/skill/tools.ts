/** The `tools` of an llm skill. */

import { readBundledCommand, type SkillFiles } from "./command.ts";
import { type Readers, readChoice, readMapping, readRequiredText, wrongType } from "./fields.ts";
import type { Findings } from "./findings.ts";
import { isObject } from "./json.ts";
import type { CommandTool, Json, ParameterType, ToolParameter } from "./manifest.ts";
import { COMMAND_TOOL_FIELDS, PARAMETER_FIELDS, SCALAR_TYPES } from "./manifest-fields.ts";
import { items, type Node, type Slot, toJson } from "./tree.ts";

const NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/** Whether `tools` only names tools, as in files of other clients: `Read, Grep`, `[bash, read]` or `{bash: false}`. */
export function namesTools(node: Node): boolean {
  if (node.kind === "scalar") return node.source.trim() !== "";
  if (node.kind === "list") return node.items.length > 0 && node.items.every(({ kind }) => kind === "scalar");
  const values = Array.from(node.entries.values(), ({ value }) => value);
  return (
    values.length > 0 &&
    values.every(({ kind, source }) => kind === "scalar" && /^(?:true|false)$/i.test(source))
  );
}

export function readTools(findings: Findings, slot: Slot, files: SkillFiles | undefined): CommandTool[] {
  const tools: CommandTool[] = [];
  const names = new Map<string, number>();
  for (const item of listItems(findings, slot, "tools")) {
    const tool = readTool(findings, item, names, files);
    if (tool !== undefined) tools.push(tool);
  }
  return tools;
}

function readTool(
  findings: Findings,
  slot: Slot,
  names: Map<string, number>,
  files: SkillFiles | undefined,
): CommandTool | undefined {
  const parameterNames = new Map<string, number>();
  const readers: Readers<typeof COMMAND_TOOL_FIELDS> = {
    name: (at) => readName(findings, slot, at, names, "tool"),
    command: (at) => readBundledCommand(findings, at, files),
    parameters: (at) =>
      listItems(findings, at, "parameters").flatMap(
        (item) => readParameter(findings, item, parameterNames) ?? [],
      ),
  };
  const place = { path: `${slot.path}.command`, at: slot.at };
  const hint = "Add for example command: [python3, tool.py].";
  return readMapping(findings, slot, COMMAND_TOOL_FIELDS, readers, {
    command: () => findings.error("command_missing", place, "A tool needs a command.", hint),
  });
}

function readParameter(
  findings: Findings,
  slot: Slot,
  names: Map<string, number>,
): ToolParameter | undefined {
  const parameter = readMapping(findings, slot, PARAMETER_FIELDS, {
    name: (at) => readName(findings, slot, at, names, "parameter"),
    items: (at, { type }) => readItems(findings, at, type),
    enum: (at, { type }) => (type === undefined ? undefined : readEnum(findings, at, type)),
  });
  return parameter?.type === "array" ? { ...parameter, items: parameter.items ?? "string" } : parameter;
}

function readItems(findings: Findings, slot: Slot, type: ParameterType | undefined): ToolParameter["items"] {
  const member = readChoice(findings, slot, SCALAR_TYPES);
  if (type === "array") return member;
  if (type !== undefined)
    findings.warning(
      "items_without_array",
      slot,
      `items has no effect on a parameter of type ${type}.`,
      "Set type: array, or remove items.",
    );
  return undefined;
}

function readName(
  findings: Findings,
  parent: Slot,
  slot: Slot,
  names: Map<string, number>,
  what: "tool" | "parameter",
): string | undefined {
  const name = readRequiredText(findings, parent, "name", slot);
  if (name === undefined) return undefined;
  if (!NAME.test(name)) {
    findings.error(
      `${what}_name`,
      slot,
      `The name of a ${what} is 1 to 64 of A-Za-z0-9_-, the first a letter or _.`,
      "Use for example check_status.",
    );
    return undefined;
  }
  const earlier = names.get(name);
  if (earlier !== undefined) {
    findings.error(
      `duplicate_${what}`,
      slot,
      `A ${what} ${name} is already declared on line ${earlier}.`,
      "Rename one of them.",
    );
    return undefined;
  }
  names.set(name, slot.at.line);
  return name;
}

function readEnum(findings: Findings, slot: Slot, type: ParameterType): Json[] | undefined {
  if (slot.node.kind !== "list" || slot.node.items.length === 0) {
    wrongType(findings, slot, `a list of one or more values of type ${type}`);
    return undefined;
  }
  const members: Json[] = [];
  for (const item of items(slot.node, slot.path)) {
    const value = toJson(item.node);
    if (!isOfType(value, type)) {
      const hint =
        type === "string"
          ? "Put the value in quotes, or set another type."
          : `Write a value of type ${type}, or set another type.`;
      findings.error("enum_member_type", item, `Every member of ${slot.path} must be of type ${type}.`, hint);
    } else if (typeof value === "string" && value.startsWith("-")) {
      findings.error(
        "enum_member_dash",
        item,
        "Hull always refuses a string that begins with -, because the command could read it as an option.",
        "Choose a value without the leading -.",
      );
    } else {
      members.push(value);
    }
  }
  return members;
}

function isOfType(value: Json, type: ParameterType): boolean {
  switch (type) {
    case "integer":
      return Number.isInteger(value);
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    default:
      return typeof value === type;
  }
}

function listItems(findings: Findings, slot: Slot, what: string): Slot[] {
  if (slot.node.kind === "list") return items(slot.node, slot.path);
  wrongType(findings, slot, `a list of ${what}`, "Begin each entry with '- name: …'.");
  return [];
}
