/** Skills that a model of a vendor's client does not load: their text, or their place, is part of the system text. */
import { firstOf } from "../cut.ts";
import type { AgentSkill, AgentTool } from "../engine/agent/spec.ts";
import { isObject } from "../skill/json.ts";
import { parsedJson } from "../skill/json-depth.ts";
import type { JsonObject } from "../skill/manifest.ts";
import type { LocalSkill } from "./v1-skills.ts";

export const LITELLM_TOOL = "litellm_code_execution" as const;
/** Characters of a tool's description. */
const MAX_DESCRIPTION = 1024;

/** A whole skill is also a tool, which answers its text and the list of its files: LiteLLM's clients expect one. */
export function skillTool({ id, label, record: { manifest, body, files } }: LocalSkill): AgentTool {
  const text =
    body.replace(/^\s*# .*\n+/, "").trim() ||
    manifest.description ||
    label ||
    `Answers with the instructions of the skill ${id}.`;
  const short = text.length > MAX_DESCRIPTION ? `${firstOf(text, MAX_DESCRIPTION - 3)}...` : text;
  const others = files.map(({ path }) => path).filter((path) => path !== "SKILL.md");
  const listed = others.length === 0 ? [] : [`Files of the skill:\n${others.join("\n")}`];
  return {
    definition: {
      name: id.replaceAll(/[- ]/g, "_"),
      description: short,
      parameters: parametersOf(manifest.metadata),
    },
    executor: "builtin",
    annotations: { kind: "read", side_effect_level: "read_only", idempotent: true },
    risk: "safe",
    handler: { text: [body.trim(), ...listed].join("\n\n") },
    skill: null,
  };
}

/** `metadata.parameters` of SKILL.md: an object, or the JSON text of one. */
function parametersOf({ parameters }: JsonObject = {}): JsonObject {
  const given = typeof parameters === "string" ? parsedJson(parameters) : parameters;
  const empty = { type: "object", properties: {}, required: [] };
  return isObject(given) && Object.keys(given).length > 0 ? given : empty;
}

/** The texts of the skills, as the end of a system text. LiteLLM's clients expect this form. */
export function injectedTexts(skills: readonly LocalSkill[]): string {
  if (skills.length === 0) return "";
  const texts = skills.map(({ label, record: { body } }) => `## Skill: ${label}\n\n${body.trim()}`);
  return `---\n\n# Available Skills\n\n${texts.join("\n\n---\n\n")}`;
}

/** The list of skills for a model that reads them itself, through the shell. */
export function listedInShell(skills: readonly AgentSkill[]): string {
  if (skills.length === 0) return "";
  const lines = skills.map(
    ({ name, description, dir = "" }) => `- ${name}: ${description} (${dir}/SKILL.md)`,
  );
  return `# Skills\n\nRead a skill's SKILL.md with the shell before you do what it is for.\n\n${lines.join("\n")}`;
}
