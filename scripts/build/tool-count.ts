/** Whether a skill declares more tools than its models take in one request (agent-runtime.md §4.4). */
import type { Catalogue } from "../../src/model/catalogue/definition.ts";
import { capabilitiesOf } from "../../src/model/catalogue/matrix.ts";
import type { Diagnostic, Manifest } from "../../src/skill/manifest.ts";
import type { ParsedSkill } from "../../src/skill/parse.ts";
import type { SkillFolder } from "./scan.ts";

/** A warning where the smallest limit of primary and fallbacks is passed. */
export function checkToolCount(
  manifest: Manifest | null,
  positions: ParsedSkill["positions"],
  folder: SkillFolder,
  catalogue: Catalogue,
): Diagnostic[] {
  if (manifest?.llm === undefined) return [];
  const { target, fallback, tools } = manifest.llm;
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
