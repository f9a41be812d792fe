/** The model settings of an llm skill. */
import { readChoice, readTexts, stripControls, wrongType } from "./fields.ts";
import type { Findings } from "./findings.ts";
import { type KnownProviders, PROVIDER_ALIASES } from "./known-providers.ts";
import type { Manifest, ModelTarget } from "./manifest.ts";
import { readNumber } from "./number-field.ts";
import { child, type MapNode, type Slot } from "./tree.ts";

type LlmSettings = Omit<NonNullable<Manifest["llm"]>, "tools">;

export function readLlm(findings: Findings, root: MapNode, known: KnownProviders): LlmSettings {
  const providerSlot = child(root, "provider");
  const provider = canonical(readChoice(findings, providerSlot, accepted(known)) ?? "anthropic", known);
  const modelSlot = child(root, "model");
  const model = readModel(findings, modelSlot);
  if (known.model_required.includes(provider) && modelSlot === undefined) {
    findings.error(
      "model_missing",
      providerSlot ?? {},
      `provider: ${provider} has no default model.`,
      "Add model: and the model's name.",
    );
  }
  const rounds = readNumber(findings, root, "max_tool_rounds");
  return {
    target: { provider, model },
    fallback: readFallback(findings, child(root, "fallback"), known),
    max_tokens: readNumber(findings, root, "max_tokens"),
    ...(rounds === undefined ? {} : { max_tool_rounds: rounds }),
    max_tool_output_bytes: readNumber(findings, root, "max_tool_output_bytes"),
  };
}

function readModel(findings: Findings, slot: Slot | undefined): string | null {
  if (slot === undefined) return null;
  const text =
    slot.node.kind === "scalar" && typeof slot.node.value === "string"
      ? stripControls(slot.node.value).trim()
      : "";
  if (text !== "") return text;
  wrongType(
    findings,
    slot,
    "the name of a model, as a string",
    "Remove the field to use the provider's default model.",
  );
  return null;
}

function readFallback(findings: Findings, slot: Slot | undefined, known: KnownProviders): ModelTarget[] {
  const names = accepted(known);
  const entries = readTexts(findings, slot, "provider/model", (text) => {
    const { provider, model } = splitTarget(text);
    if (!names.includes(provider)) return `it does not begin with one of ${names.join(", ")}, and a slash`;
    return model === "" ? "the model is missing" : null;
  });
  return (entries ?? []).map(({ text }) => {
    const { provider, model } = splitTarget(text);
    return { provider: canonical(provider, known), model };
  });
}

const canonical = (name: string, { names }: KnownProviders): string =>
  names.includes(name) ? name : (PROVIDER_ALIASES.get(name) ?? name);

/** The names and their aliases. */
const accepted = ({ names }: KnownProviders): string[] => [
  ...names,
  ...Array.from(PROVIDER_ALIASES.keys()).filter((alias) => !names.includes(alias)),
];

/** `provider/model`, where the model may contain slashes itself. */
function splitTarget(text: string): { provider: string; model: string } {
  const slash = text.indexOf("/");
  return { provider: text.slice(0, Math.max(slash, 0)), model: text.slice(slash + 1).trim() };
}
