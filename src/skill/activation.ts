/** When an agent run may activate a skill, and who may do it: fields in addition to those of the format. */
import { stripControls } from "./fields.ts";
import type { Findings } from "./findings.ts";
import { warnMissed } from "./foreign-fields.ts";
import type { Activation, Manifest } from "./manifest.ts";
import { splitAllowedTools, WORKSPACE_TOOLS, workspaceTool } from "./tool-names.ts";
import { child, items, type MapNode, type Node, type Slot, textOf } from "./tree.ts";
import { FINGERPRINT } from "./trust.ts";

/** Spelt with hyphens; `_` is the same. */
export const ACTIVATION_FIELDS = [
  "when-to-use",
  "paths",
  "disable-model-invocation",
  "user-invocable",
  "mcp",
  "require-signature",
  "trusted-signers",
  "hooks",
  "workspace_tools",
  "tool_scope",
  "argument-hint",
  "context",
  "agent",
  "effort",
  "shell",
] as const;
type ActivationField = (typeof ACTIVATION_FIELDS)[number];

/** What the fields set in the manifest outside of `activation`. */
type ImpliedFields = Pick<Manifest, "tool_scope" | "workspace_tools">;

interface ReadActivation {
  activation: Activation | undefined;
  implied: ImpliedFields;
}

/** A field that cannot be read has no effect, and gets a warning. */
export function readActivation(findings: Findings, root: MapNode): ReadActivation {
  const slots = new Map<ActivationField, Slot>();
  for (const field of ACTIVATION_FIELDS) {
    const slot = child(root, field) ?? child(root, field.replaceAll("-", "_"));
    if (slot !== undefined) slots.set(field, slot);
  }
  const whenToUse = text(findings, slots.get("when-to-use"));
  const paths = texts(findings, slots.get("paths"));
  const disabled = flag(findings, slots.get("disable-model-invocation"));
  const invocable = flag(findings, slots.get("user-invocable"));
  const mcp = texts(findings, slots.get("mcp"));
  const signed = flag(findings, slots.get("require-signature"));
  const signers = fingerprints(findings, slots.get("trusted-signers"));
  const hooks = slots.get("hooks");
  // YAML reads `[file]` as a list, but all other clients show it as the text that a person types.
  const hintNode = slots.get("argument-hint")?.node;
  const hint = hintNode === undefined ? undefined : stripControls(textOf(hintNode) ?? hintNode.source).trim();
  const context = text(findings, slots.get("context"))?.toLowerCase();
  const agent = text(findings, slots.get("agent"));
  const effort = text(findings, slots.get("effort"));
  const shell = text(findings, slots.get("shell"));
  const scope = slots.get("tool_scope");
  const scoped = scope === undefined ? undefined : splitAllowedTools(textsOf(scope.node));
  const workspace = workspaceTools(findings, slots.get("workspace_tools"));
  const activation: Activation = {
    ...(whenToUse === undefined ? {} : { when_to_use: whenToUse }),
    ...(paths === undefined ? {} : { paths }),
    ...(disabled === true ? { disable_model_invocation: true } : {}),
    ...(invocable === false ? { user_invocable: false } : {}),
    ...(mcp === undefined || mcp.length === 0 ? {} : { mcp: [...new Set(mcp)] }),
    ...(signed === true ? { require_signature: true } : {}),
    ...(signers === undefined ? {} : { trusted_signers: signers }),
    ...(hooks === undefined ? {} : hookNames(hooks)),
    ...(hint === undefined || hint === "" ? {} : { argument_hint: hint }),
    ...(context === "fork" ? { context } : {}),
    ...(agent === undefined || agent === "" ? {} : { agent }),
    ...(effort === undefined || effort === "" ? {} : { effort }),
    ...(shell === undefined || shell === "" ? {} : { shell }),
  };
  warnMissed(
    findings,
    root,
    ["hooks", "context", "agent", "effort", "shell"].filter((field) => root.entries.has(field)),
  );
  return {
    implied: {
      ...(scoped === undefined ? {} : { tool_scope: scoped }),
      ...(workspace === undefined ? {} : { workspace_tools: workspace }),
    },
    activation: Object.keys(activation).length === 0 ? undefined : activation,
  };
}

function text(findings: Findings, slot: Slot | undefined): string | undefined {
  if (slot === undefined) return undefined;
  const value = textOf(slot.node);
  if (value === null) odd(findings, slot, "a string");
  return value === null ? undefined : stripControls(value).trim();
}

/** A list, or a text split at commas. */
function texts(findings: Findings, slot: Slot | undefined): string[] | undefined {
  if (slot === undefined) return undefined;
  const nodes = slot.node.kind === "list" ? items(slot.node, slot.path).map(({ node }) => node) : [slot.node];
  const values = nodes.map(textOf);
  if (values.some((value) => value === null)) {
    odd(findings, slot, "a list of strings");
    return undefined;
  }
  const split = values.flatMap((value) =>
    slot.node.kind === "list" ? [value ?? ""] : (value ?? "").split(","),
  );
  return split.map((value) => stripControls(value).trim()).filter((value) => value !== "");
}

/** The texts of a list, or the single text. */
const textsOf = (node: Node): string[] =>
  (node.kind === "list" ? node.items : [node]).map((each) => stripControls(textOf(each) ?? ""));

/** `true`, `false`, or names of workspace tools, including their names in other clients. */
function workspaceTools(findings: Findings, slot: Slot | undefined): Manifest["workspace_tools"] {
  if (slot === undefined) return undefined;
  const [first = "", ...others] = splitAllowedTools(textsOf(slot.node));
  if (slot.node.kind !== "list" && others.length === 0 && /^(?:true|false)$/i.test(first))
    return first.toLowerCase() === "true";
  const names = slot.node.kind === "map" ? [null] : [first, ...others].map(workspaceTool);
  const known = names.filter((name) => name !== null);
  if (known.length === names.length) return [...new Set(known)];
  odd(findings, slot, `true, false or a list of ${WORKSPACE_TOOLS.join(", ")}`);
  return undefined;
}

/** A malformed fingerprint matches nobody's key. */
function fingerprints(findings: Findings, slot: Slot | undefined): string[] | undefined {
  const given = texts(findings, slot);
  const odd = given?.filter((text) => !FINGERPRINT.test(text)) ?? [];
  if (slot !== undefined && odd.length > 0) {
    const message = `The field ${slot.path} has values that are not fingerprints of keys: ${odd.join(", ").slice(0, 200)}.`;
    findings.error(
      "signer_fingerprint",
      slot,
      message,
      "hull sign prints fingerprints: 64 digits of 0-9 and a-f.",
    );
  }
  return given;
}

function flag(findings: Findings, slot: Slot | undefined): boolean | undefined {
  if (slot === undefined) return undefined;
  const value = textOf(slot.node)?.trim().toLowerCase();
  if (value === "true" || value === "false") return value === "true";
  odd(findings, slot, "true or false");
  return undefined;
}

/** Names of the skill's own hooks. Hooks of other clients are commands by event, and have no effect here. */
function hookNames({ node }: Slot): Pick<Activation, "on_activate" | "on_deactivate"> {
  if (node.kind !== "map") return {};
  const named = (key: string) => {
    const value = node.entries.get(key)?.value;
    return value === undefined ? undefined : (textOf(value) ?? undefined);
  };
  const [activate, deactivate] = [named("on_activate"), named("on_deactivate")];
  return {
    ...(activate === undefined ? {} : { on_activate: activate }),
    ...(deactivate === undefined ? {} : { on_deactivate: deactivate }),
  };
}

function odd(findings: Findings, slot: Slot, wanted: string): void {
  const message = `The field ${slot.path} is not ${wanted}, and has no effect.`;
  findings.warning("activation_field", slot, message, `Write ${wanted}.`);
}
