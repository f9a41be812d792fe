/** The build's findings about a skill's models: whether they accept its tools, and whether they still exist. */
import type { ModelRegistry } from "../../src/model/registry/definition.ts";
import { capabilitiesOf } from "../../src/model/registry/matrix.ts";
import { retirementOf } from "../../src/model/registry/retirements.ts";
import type { Assembly } from "../../src/skill/assemble.ts";
import type { Diagnostic } from "../../src/skill/manifest.ts";
import type { SkillFolder } from "./skill-folder.ts";

/** @param today YYYY-MM-DD */
export function checkModels(
  assembly: Assembly,
  folder: SkillFolder,
  modelRegistry: ModelRegistry,
  today: string,
): Diagnostic[] {
  return [...checkToolCount(assembly, folder, modelRegistry), ...checkRetirement(assembly, folder, today)];
}

/** A warning if a provider shut down a model that the skill names; before that day, a remark. */
function checkRetirement({ skill, positions }: Assembly, folder: SkillFolder, today: string): Diagnostic[] {
  const llm = skill?.record.manifest.llm;
  if (llm === undefined) return [];
  return [llm.target, ...llm.fallback].flatMap(({ provider, model }, index): Diagnostic[] => {
    const day = model === null ? null : retirementOf(provider, model);
    if (day === null) return [];
    const field = index === 0 ? "model" : "fallback";
    const past = day <= today;
    return [
      {
        level: past ? "warning" : "info",
        code: "model_retired",
        skill: folder.name,
        file: folder.file,
        ...positions.get(field),
        field,
        message: `${provider} ${past ? "shut" : "will shut"} ${model} down on ${day}.`,
        hint: "Name another model, or none: Hull then takes the provider's default.",
      },
    ];
  });
}

/** A warning if the tools exceed the smallest limit of primary and fallbacks. */
function checkToolCount(
  { skill, positions }: Assembly,
  folder: SkillFolder,
  modelRegistry: ModelRegistry,
): Diagnostic[] {
  const llm = skill?.record.manifest.llm;
  if (llm === undefined) return [];
  const { target, fallback, tools } = llm;
  const limits = [target, ...fallback].flatMap(({ provider, model }) => {
    const { default_model = "" } = modelRegistry.providers.get(provider) ?? {};
    return capabilitiesOf(modelRegistry, provider, model ?? default_model).max_tools ?? [];
  });
  const limit = Math.min(...limits);
  if (tools.length <= limit) return [];
  return [
    {
      level: "warning",
      code: "too_many_tools",
      skill: folder.name,
      file: folder.file,
      ...positions.get("tools"),
      field: "tools",
      message: `The skill has ${tools.length} tools; its models take at most ${limit} in one request.`,
      hint: "Declare fewer tools, or name a model that takes more.",
    },
  ];
}
