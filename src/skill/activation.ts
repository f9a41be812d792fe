/** When an agent run may activate a skill, and who may do it: fields in addition to those of the format. */
import { firstOf } from "../cut.ts";
import { readCommandHooks } from "./command-hooks.ts";
import type { Field } from "./field-kinds.ts";
import { type Readers, readFields, stripControls, withoutEffect, wrongType } from "./fields.ts";
import type { Findings } from "./findings.ts";
import { warnMissed } from "./foreign-fields.ts";
import type { Activation, Json, Manifest, Mode } from "./manifest.ts";
import { ACTIVATION_FIELDS, TOOLSET_FIELDS } from "./manifest-fields.ts";
import { splitAllowedTools, WORKSPACE_TOOLS, workspaceTool } from "./tool-names.ts";
import { child, items, type MapNode, type Node, type Slot, textOf } from "./tree.ts";
import { FINGERPRINT } from "./trust.ts";

/** What the fields set in a manifest. A field that cannot be read has no effect, and gets a warning. */
export function readActivation(
  findings: Findings,
  root: MapNode,
  mode?: Mode,
): Pick<Manifest, "activation" | "tool_scope" | "workspace_tools"> {
  const top = { path: "" };
  const toolset: Readers<typeof TOOLSET_FIELDS> = {
    tool_scope: (at) => splitAllowedTools(textsOf(at.node)),
    workspace_tools: (at) => workspaceTools(findings, at),
  };
  const readers: Readers<typeof ACTIVATION_FIELDS> = {
    // YAML reads `[file]` as a list, but all other clients show it as the text that a person types.
    "argument-hint": (at) => stripControls(textOf(at.node) ?? at.node.source).trim(),
    arguments: (at) => argumentNames(findings, at),
    context: (at) => CONTEXTS.find((word) => word === text(findings, at)?.toLowerCase()),
    // A value that cannot be read must not let an unsigned skill pass.
    "require-signature": (at) => flag(findings, at, wrongType),
    "trusted-signers": (at) => fingerprints(findings, at),
    mcp: (at) => Array.from(new Set(texts(findings, at))),
  };
  const options = { readKind: readLeniently };
  const tools = readFields(findings, root, top, TOOLSET_FIELDS, toolset, options);
  const { hooks: _, ...read } = readFields(findings, root, top, ACTIVATION_FIELDS, readers, options);
  const activation = { ...read, ...hooksOf(findings, child(root, "hooks"), mode) };
  warnMissed(
    findings,
    root,
    ["context", "agent", "effort", "shell"].filter((field) => root.entries.has(field)),
  );
  return Object.keys(activation).length === 0 ? tools : { ...tools, activation };
}

/** The words of `context` that mean something. */
const CONTEXTS = ["fork", "agent"];

function readLeniently(findings: Findings, slot: Slot, { kind }: Field): Json | undefined {
  switch (kind) {
    case "text":
      return text(findings, slot);
    case "list":
      return texts(findings, slot);
    case "flag":
      return flag(findings, slot);
    default:
      return undefined;
  }
}

function text(findings: Findings, slot: Slot): string | undefined {
  const value = textOf(slot.node);
  if (value === null) withoutEffect(findings, slot, "a string");
  return value === null ? undefined : stripControls(value).trim();
}

/** A list, or a text split at commas. */
function texts(findings: Findings, slot: Slot): string[] | undefined {
  const nodes = slot.node.kind === "list" ? items(slot.node, slot.path).map(({ node }) => node) : [slot.node];
  const values = nodes.map(textOf);
  if (values.some((value) => value === null)) {
    withoutEffect(findings, slot, "a list of strings");
    return undefined;
  }
  const split = values.flatMap((value) =>
    slot.node.kind === "list" ? [value ?? ""] : (value ?? "").split(","),
  );
  return split.map((value) => stripControls(value).trim()).filter((value) => value !== "");
}

/** The texts of a list, or the single text. */
export const textsOf = (node: Node): string[] =>
  (node.kind === "list" ? node.items : [node]).map((each) => stripControls(textOf(each) ?? ""));

/** Some authors describe the arguments instead. */
function argumentNames(findings: Findings, slot: Slot): string[] | undefined {
  const names = textsOf(slot.node).flatMap((each) => each.split(/[\s,]+/).filter((name) => name !== ""));
  if (names.length > 0 && names.every((name) => /^[A-Za-z_][\w-]*$/.test(name))) return names;
  withoutEffect(findings, slot, "a list of names");
  return undefined;
}

/** `true`, `false`, or names of workspace tools, including their names in other clients. */
function workspaceTools(findings: Findings, slot: Slot): Manifest["workspace_tools"] {
  const [first = "", ...others] = splitAllowedTools(textsOf(slot.node));
  if (slot.node.kind !== "list" && others.length === 0 && /^(?:true|false)$/i.test(first))
    return first.toLowerCase() === "true";
  const names = slot.node.kind === "map" ? [null] : [first, ...others].map(workspaceTool);
  const known = names.filter((name) => name !== null);
  if (known.length === names.length) return [...new Set(known)];
  withoutEffect(findings, slot, `true, false or a list of ${WORKSPACE_TOOLS.join(", ")}`);
  return undefined;
}

/** A malformed fingerprint matches nobody's key. */
function fingerprints(findings: Findings, slot: Slot): string[] | undefined {
  const given = texts(findings, slot);
  const odd = given?.filter((text) => !FINGERPRINT.test(text)) ?? [];
  if (odd.length > 0) {
    const message = `The field ${slot.path} has values that are not fingerprints of keys: ${firstOf(odd.join(", "), 200)}.`;
    findings.error(
      "signer_fingerprint",
      slot,
      message,
      "hull sign prints fingerprints: 64 digits of 0-9 and a-f.",
    );
  }
  return given;
}

function flag(
  findings: Findings,
  slot: Slot,
  fault: typeof withoutEffect = withoutEffect,
): boolean | undefined {
  const value = textOf(slot.node)?.trim().toLowerCase();
  if (value === "true" || value === "false") return value === "true";
  fault(findings, slot, "true or false");
  return undefined;
}

/** The skill's hooks: names of its own functions, and commands at the events of other clients. */
function hooksOf(
  findings: Findings,
  slot: Slot | undefined,
  mode: Mode | undefined,
): Pick<Activation, "on_activate" | "on_deactivate" | "command_hooks"> {
  if (slot === undefined) return {};
  const { node } = slot;
  const named = (["on_activate", "on_deactivate"] as const).flatMap((key) => {
    const value = node.kind === "map" ? node.entries.get(key)?.value : undefined;
    const name = value === undefined ? null : textOf(value);
    return name === null ? [] : [[key, name] as const];
  });
  const command_hooks = readCommandHooks(findings, slot, mode);
  return { ...Object.fromEntries(named), ...(command_hooks.length === 0 ? {} : { command_hooks }) };
}
