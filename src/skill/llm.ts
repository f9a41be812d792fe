/** The model settings of an llm skill (serving.md §2 and §4.1). */
import { readChoice, readInteger, readTexts, stripControls, wrongType } from "./fields.ts";
import type { Findings } from "./findings.ts";
import { type Manifest, type ModelTarget, PROVIDERS, type ProviderName } from "./manifest.ts";
import { child, type MapNode, type Slot } from "./tree.ts";

/** Providers without a default model: the skill has to name one. */
const MODEL_REQUIRED: readonly ProviderName[] = ["huggingface"];
const COUNT = { min: 1, max: 2147483647 };

export type LlmSettings = Omit<NonNullable<Manifest["llm"]>, "tools">;

export function readLlm(findings: Findings, root: MapNode): LlmSettings {
  const providerSlot = child(root, "provider");
  const provider = readChoice(findings, providerSlot, PROVIDERS) ?? "anthropic";
  const modelSlot = child(root, "model");
  const model = readModel(findings, modelSlot);
  if (MODEL_REQUIRED.includes(provider) && modelSlot === undefined) {
    findings.error(
      "model_missing",
      providerSlot ?? {},
      `provider: ${provider} has no default model.`,
      "Add model: and the model's name.",
    );
  }
  const output = readInteger(findings, child(root, "max_tool_output_bytes"), { min: 1024, max: 1048576 });
  return {
    target: { provider, model },
    fallback: readFallback(findings, child(root, "fallback")),
    max_tokens: readInteger(findings, child(root, "max_tokens"), COUNT) ?? 4096,
    max_tool_rounds: readInteger(findings, child(root, "max_tool_rounds"), COUNT) ?? 10,
    max_tool_output_bytes: output ?? 65536,
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
    "the name of a model, as text",
    "Remove the field to use the provider's default model.",
  );
  return null;
}

function readFallback(findings: Findings, slot: Slot | undefined): ModelTarget[] {
  const entries = readTexts(findings, slot, "provider/model", (text) => {
    const { provider, model } = splitTarget(text);
    if (provider === undefined) return `it does not begin with one of ${PROVIDERS.join(", ")}, and a slash`;
    return model === "" ? "the model is missing" : null;
  });
  return (entries ?? []).flatMap(({ text }) => {
    const { provider, model } = splitTarget(text);
    return provider === undefined ? [] : [{ provider, model }];
  });
}

/** `provider/model`, where the model may hold slashes itself. */
function splitTarget(text: string): { provider: ProviderName | undefined; model: string } {
  const slash = text.indexOf("/");
  const name = text.slice(0, Math.max(slash, 0));
  return { provider: PROVIDERS.find((p) => p === name), model: text.slice(slash + 1).trim() };
}
