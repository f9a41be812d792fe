/** Whether a skill declares more tools than its models take in one request (agent-runtime.md §4.4). */
import type { Catalogue } from "../../src/model/catalogue/definition.ts";
import { capabilitiesOf } from "../../src/model/catalogue/matrix.ts";
import type { Assembly } from "../../src/skill/assemble.ts";
import type { Diagnostic } from "../../src/skill/manifest.ts";
import type { SkillFolder } from "./scan.ts";

/** A warning where the smallest limit of primary and fallbacks is passed. */
export function checkToolCount(
  { skill, positions }: Assembly,
  folder: SkillFolder,
  catalogue: Catalogue,
): Diagnostic[] {
  const llm = skill?.record.manifest.llm;
  if (llm === undefined) return [];
  const { target, fallback, tools } = llm;
  const limits = [target, ...fallback].flatMap(({ provider, model }) => {
    const { skill_model, default_model = "" } = catalogue.providers.get(provider) ?? {};
    return capabilitiesOf(catalogue, provider, model ?? skill_model ?? default_model).max_tools ?? [];
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
