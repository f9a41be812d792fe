/**
 * Reads the frontmatter of a plain Agent Skill as far as possible. A broken rule of the format is a warning; an error
 * means that the skill cannot be used.
 */
import { memo } from "../memo.ts";
import { readActivation, textsOf } from "./activation.ts";
import {
  type BrokenRule,
  brokenCompatibilityRules,
  brokenDescriptionRules,
  brokenNameRules,
} from "./field-rules.ts";
import { stripControls } from "./fields.ts";
import type { Findings } from "./findings.ts";
import { FOREIGN_MODELS, reportWithoutEffect, warnMissed } from "./foreign-fields.ts";
import type { JsonObject, Manifest } from "./manifest.ts";
import { PLAIN_FIELDS } from "./manifest-fields.ts";
import { skillSlug } from "./slug.ts";
import { splitAllowedTools } from "./tool-names.ts";
import { child, type MapNode, type Node, type Slot, textOf, toText } from "./tree.ts";

const fold = (key: string): string => key.replaceAll("_", "-");
const spellings = memo((names: readonly string[]) => Map.groupBy(names, fold));

/** Renames known fields that are spelt with `_` for `-` or the other way round. */
export function unifySpelling(root: MapNode, names: readonly string[]): MapNode {
  const entries: MapNode["entries"] = new Map();
  for (const [key, entry] of root.entries) {
    const known = spellings(names)
      .get(fold(key))
      ?.find((field) => field !== key);
    entries.set(known !== undefined && !root.entries.has(known) ? known : key, entry);
  }
  return { ...root, entries };
}

/** The content of a SKILL.md. */
export interface AgentSkillText
  extends Pick<
    Manifest,
    "license" | "compatibility" | "allowed_tools" | "activation" | "tool_scope" | "workspace_tools"
  > {
  name: string;
  /** `null`: neither the name nor the folder contains an ASCII letter or digit. */
  slug: string | null;
  description: string;
  metadata?: { [key: string]: string };
  body: string;
  /** The other fields, with every scalar as text. */
  extra: JsonObject;
}

/**
 * @param root with known fields under their own names (`unifySpelling`)
 * @param directory name of the skill's folder, if it has one
 * @param known fields to suggest for misspelt ones
 */
export function readAgentSkill(
  findings: Findings,
  root: MapNode,
  body: string,
  directory: string | undefined,
  known: readonly string[] = PLAIN_FIELDS,
): AgentSkillText | null {
  const read = readActivation(findings, root);
  const name = readName(findings, root, directory);
  const description = readDescription(findings, root, read.activation?.context);
  const compatibility = readCompatibility(findings, root);
  const license = child(root, "license");
  const allowed = child(root, "allowed-tools");
  const metadata = readMetadata(findings, root);
  const others = Array.from(root.entries.keys()).filter((key) => !PLAIN_FIELDS.includes(key));
  const named = textOf(root.entries.get("model")?.value ?? root)?.trim();
  const model = FOREIGN_MODELS.find((each) => each === named);
  const reported = [...warnMissed(findings, root, others), ...(model === undefined ? [] : ["model"])];
  const unreported = others.filter((key) => !reported.includes(key));
  reportWithoutEffect(findings, root, unreported, known);
  if (metadata === null) others.push("metadata");
  if (body.trim() === "") {
    const message = "The skill has no instructions: there is nothing below the frontmatter.";
    const hint = "Write the instructions for the model below the closing ---.";
    findings.warning("body_empty", { at: { line: 1, column: 1 } }, message, hint);
  }
  if (name === null || description === null) return null;
  return {
    name,
    slug: skillSlug(name, directory ?? ""),
    description,
    ...(license === undefined ? {} : { license: plainText(license.node) }),
    ...(compatibility === undefined ? {} : { compatibility }),
    ...(metadata === undefined || metadata === null ? {} : { metadata }),
    ...(allowed === undefined ? {} : { allowed_tools: splitAllowedTools(textsOf(allowed.node)) }),
    ...read,
    ...(model === undefined ? {} : { activation: { ...read.activation, model } }),
    body,
    extra: Object.fromEntries(others.map((key) => [key, asTexts(root.entries.get(key)?.value)])),
  };
}

const clean = (text: string): string => stripControls(text).trim();

function readName(findings: Findings, root: MapNode, directory: string | undefined): string | null {
  const slot = child(root, "name");
  const name = slot === undefined ? "" : clean(textOf(slot.node) ?? "").replace(/\s+/g, " ");
  if (name !== "") {
    warn(findings, slot, brokenNameRules(name, directory));
    return name;
  }
  const location = slot ?? { path: "name", at: { line: 1, column: 1 } };
  if (directory !== undefined && directory !== "") {
    const message = `The field name is missing or empty; Hull takes the folder's name, ${directory}.`;
    findings.warning("name_from_directory", location, message, `Add name: ${directory}`);
    return directory;
  }
  findings.error("name_missing", location, "The field name is required.", "Add name: and a string.");
  return null;
}

function readDescription(findings: Findings, root: MapNode, context: string | undefined): string | null {
  const slot = child(root, "description");
  const hint = "Say what the skill does and when to use it.";
  if (slot === undefined) {
    const location = { path: "description", at: { line: 1, column: 1 } };
    findings.error("description_missing", location, "The field description is required.", hint);
    return null;
  }
  const text = textOf(slot.node);
  const description = clean(text ?? slot.node.source);
  if (description === "") {
    if (/^description:[ \t]+#/m.test(root.source)) {
      const message = "The field description is empty: to YAML, everything after a # is a comment.";
      findings.error("description_comment", slot, message, 'Put it in quotes: description: "# …".');
    } else findings.error("description_empty", slot, "The field description must not be empty.", hint);
    return null;
  }
  if (text === null) {
    const message = "The description is written as a list or mapping; Hull takes its text unchanged.";
    findings.warning("description_raw", slot, message, "Put it in quotes.");
  }
  // The description of an agent often holds dialogues as examples, and other clients set no limit for it.
  if (context !== "agent") warn(findings, slot, brokenDescriptionRules(description));
  return description;
}

function readCompatibility(findings: Findings, root: MapNode): string | undefined {
  const slot = child(root, "compatibility");
  if (slot === undefined) return undefined;
  warn(findings, slot, brokenCompatibilityRules(textOf(slot.node)));
  return plainText(slot.node);
}

/** `null`: it is given, but not a mapping. */
function readMetadata(findings: Findings, root: MapNode): { [key: string]: string } | null | undefined {
  const slot = child(root, "metadata");
  if (slot === undefined) return undefined;
  const { node } = slot;
  const odd =
    node.kind !== "map" || Array.from(node.entries.values()).some(({ value }) => textOf(value) === null);
  if (odd) {
    const message =
      "The format requires metadata to be a mapping of strings; Hull keeps other values as JSON.";
    findings.info("metadata_not_strings", slot, message);
  }
  if (node.kind !== "map") return null;
  return Object.fromEntries(Array.from(node.entries, ([key, { value }]) => [key, plainText(value)]));
}

function warn(findings: Findings, slot: Slot | undefined, rules: readonly BrokenRule[]): void {
  for (const { code, field, message, hint } of rules)
    findings.warning(code, slot ?? { path: field }, message, hint);
}

/** A scalar's text; for a collection its JSON text. */
const plainText = (node: Node): string => stripControls(textOf(node) ?? JSON.stringify(toText(node)));

const asTexts = (node: Node | undefined) => (node === undefined ? null : toText(node));
