/** The build's findings about a skill's models: whether they accept its tools, and whether they still exist. */
import type { ModelRegistry } from "../../src/model/registry/definition.ts";
import { capabilitiesOf } from "../../src/model/registry/matrix.ts";
import { retirementOf } from "../../src/model/registry/retirements.ts";
import type { Assembly } from "../../src/skill/assemble.ts";
import type { Diagnostic } from "../../src/skill/manifest.ts";

/** @param retired see `lastRetirement` */
export function checkModels(
  { skill, positions }: Assembly,
  { folder, file }: { folder: string; file: string },
  modelRegistry: ModelRegistry,
  retired: string,
): Diagnostic[] {
  const llm = skill?.record.manifest.llm;
  if (llm === undefined) return [];
  const found: Diagnostic[] = [];
  const note = (level: Diagnostic["level"], code: string, field: string, message: string, hint: string) =>
    found.push({ level, code, skill: folder, file, ...positions.get(field), field, message, hint });
  const targets = [llm.target, ...llm.fallback];
  const limits = targets.flatMap(({ provider, model }) => {
    const { default_model = "" } = modelRegistry.providers.get(provider) ?? {};
    return capabilitiesOf(modelRegistry, provider, model ?? default_model).max_tools ?? [];
  });
  const limit = Math.min(...limits);
  if (llm.tools.length > limit) {
    const message = `The skill has ${llm.tools.length} tools; its models take at most ${limit} in one request.`;
    const hint = "Declare fewer tools, or name a model that takes more.";
    note("warning", "too_many_tools", "tools", message, hint);
  }
  for (const [index, { provider, model }] of targets.entries()) {
    const day = model === null ? null : retirementOf(provider, model);
    if (day === null) continue;
    const past = day <= retired;
    const message = `${provider} ${past ? "shut" : "will shut"} ${model} down on ${day}.`;
    const hint = "Name another model, or none: Hull then takes the provider's default.";
    note(past ? "warning" : "info", "model_retired", index === 0 ? "model" : "fallback", message, hint);
  }
  return found;
}
