/** When and by whom an agent run may activate a skill: fields beside those of the format (agent-runtime.md §11.4). */
import { stripControls } from "./fields.ts";
import type { Findings } from "./findings.ts";
import type { Activation } from "./manifest.ts";
import { child, items, type MapNode, type Slot, textOf } from "./tree.ts";
import { FINGERPRINT } from "./trust.ts";

/** In the spelling with hyphens; `_` is the same. */
export const ACTIVATION_FIELDS = [
  "when-to-use",
  "paths",
  "disable-model-invocation",
  "user-invocable",
  "mcp",
  "require-signature",
  "trusted-signers",
  "hooks",
] as const;
type ActivationField = (typeof ACTIVATION_FIELDS)[number];

interface ReadActivation {
  activation: Activation | undefined;
  /** Which keys of the frontmatter were read, as they are spelt there. */
  fields: string[];
}

/** What cannot be read has no effect, and is warned about. */
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
  const activation: Activation = {
    ...(whenToUse === undefined ? {} : { when_to_use: whenToUse }),
    ...(paths === undefined ? {} : { paths }),
    ...(disabled === true ? { disable_model_invocation: true } : {}),
    ...(invocable === false ? { user_invocable: false } : {}),
    ...(mcp === undefined || mcp.length === 0 ? {} : { mcp: [...new Set(mcp)] }),
    ...(signed === true ? { require_signature: true } : {}),
    ...(signers === undefined ? {} : { trusted_signers: signers }),
    ...(hooks === undefined ? {} : hookNames(hooks)),
  };
  return {
    activation: Object.keys(activation).length === 0 ? undefined : activation,
    fields: Array.from(slots.values(), ({ path }) => path),
  };
}

function text(findings: Findings, slot: Slot | undefined): string | undefined {
  if (slot === undefined) return undefined;
  const value = textOf(slot.node);
  if (value === null) odd(findings, slot, "a text");
  return value === null ? undefined : stripControls(value).trim();
}

/** A list, or a text with commas. */
function texts(findings: Findings, slot: Slot | undefined): string[] | undefined {
  if (slot === undefined) return undefined;
  const nodes = slot.node.kind === "list" ? items(slot.node, slot.path).map(({ node }) => node) : [slot.node];
  const values = nodes.map(textOf);
  if (values.some((value) => value === null)) {
    odd(findings, slot, "a list of texts");
    return undefined;
  }
  const split = values.flatMap((value) =>
    slot.node.kind === "list" ? [value ?? ""] : (value ?? "").split(","),
  );
  return split.map((value) => stripControls(value).trim()).filter((value) => value !== "");
}

/** What is no fingerprint is that of nobody. */
function fingerprints(findings: Findings, slot: Slot | undefined): string[] | undefined {
  const given = texts(findings, slot);
  const odd = given?.filter((text) => !FINGERPRINT.test(text)) ?? [];
  if (slot !== undefined && odd.length > 0) {
    const message = `The field ${slot.path} has what is no fingerprint of a key: ${odd.join(", ").slice(0, 200)}.`;
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

/** Names of the skill's own hooks; hooks of other clients are commands by event, and have no effect here. */
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
