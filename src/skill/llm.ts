/** Readers of an llm skill's models. */
import { readChoice, readTexts, stripControls, wrongType } from "./fields.ts";
import type { Findings } from "./findings.ts";
import { type KnownProviders, PROVIDER_ALIASES } from "./known-providers.ts";
import type { ModelTarget } from "./manifest.ts";
import { child, type MapNode, type Slot, stringOf } from "./tree.ts";

/** The deployment's name of a provider. */
export function readProvider(findings: Findings, slot: Slot, known: KnownProviders): string | undefined {
  const name = readChoice(findings, slot, accepted(known));
  return name === undefined ? undefined : canonical(name, known);
}

/** Reports that a provider needs a model. @param root with the field `provider` */
export function checkNoModel(
  findings: Findings,
  provider: string | undefined,
  root: MapNode,
  known: KnownProviders,
): void {
  if (provider === undefined || !known.model_required.includes(provider)) return;
  const message = `provider: ${provider} has no default model.`;
  const location = child(root, "provider") ?? {};
  findings.error("model_missing", location, message, "Add model: and the model's name.");
}

export function readModel(findings: Findings, slot: Slot): string | undefined {
  const text = stripControls(stringOf(slot.node) ?? "").trim();
  if (text !== "") return text;
  wrongType(
    findings,
    slot,
    "the name of a model, as a string",
    "Remove the field to use the provider's default model.",
  );
  return undefined;
}

/** Texts that `targetOf` takes. */
export function readFallback(findings: Findings, slot: Slot, known: KnownProviders): string[] | undefined {
  const names = accepted(known);
  const entries = readTexts(findings, slot, "provider/model", (text) => {
    const { provider, model } = splitTarget(text);
    if (!names.includes(provider)) return `it does not begin with one of ${names.join(", ")}, and a slash`;
    return model === "" ? "the model is missing" : null;
  });
  return entries?.map(({ text }) => text);
}

export function targetOf(text: string, known: KnownProviders): ModelTarget {
  const { provider, model } = splitTarget(text);
  return { provider: canonical(provider, known), model };
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
