/** Tools that the model of a run defines in its session: what they are, and where their code runs. */
import type { ToolDefinition } from "../../engine/messages.ts";
import type { Json, SkillRecord, SkillTool } from "../../skill/manifest.ts";

/** Time limit of a call, in ms. */
const TIMEOUT_MS = 60_000;

/** A session's tool as a handler. It gets no network and no variables, and nothing is known about its effects. */
export function toolOfSession({ name, description, parameters }: ToolDefinition): SkillTool {
  return {
    name,
    description,
    parameters,
    tier: "isolate",
    script: `scripts/${name}.js`,
    timeout_ms: TIMEOUT_MS,
    env: [],
    network: null,
    filesystem: false,
    side_effects: true,
    idempotent: false,
    risk: "moderate",
    hidden: false,
    config: [],
  };
}

/** The skill that a session's tool belongs to. It has no files and is trusted as little as an upload. */
export function sessionRecord(tool: string, tenant: string): SkillRecord {
  const slug = skillNameOf(tool);
  const description = "Defined in a session";
  return {
    format: 1,
    manifest: {
      name: slug,
      slug,
      description,
      mode: "llm",
      route: `/skills/${slug}`,
      method: "POST",
      input: "text",
      input_mime: [],
      output: "text",
      tool_env: [],
      extra: {},
      timeout_ms: TIMEOUT_MS,
      idle_timeout_ms: TIMEOUT_MS,
      deadline_ms: TIMEOUT_MS,
    },
    body: "",
    files: [],
    pack: null,
    uploaded_by: tenant,
  };
}

/** The skill name for a tool's name: `fetch_weather` becomes `fetch-weather`. */
export function skillNameOf(tool: string): string {
  return tool.replaceAll(/_+/g, "-").replaceAll(/^-|-$/g, "");
}

/** Marks a stored skill that `define_tool` made. */
export const DEFINED = { key: "defined-by", value: "define_tool" } as const;
const MAX_DESCRIPTION = 1000;

/** A tool as the model defines it. */
export interface DefinedTool {
  name: string;
  description: string;
  /** The parameters as the model wrote them. */
  declared: Json;
  /** The module. */
  code: string;
}

/** The files of the skill that stores a tool, by path. */
export function definedFiles({ name, description, declared, code }: DefinedTool): Record<string, string> {
  const script = `scripts/${name}.js`;
  // A validator ends the frontmatter at the next ---, wherever that is.
  const line = description
    .replaceAll(/[\s<>]+/g, " ")
    .replaceAll(/-{3,}/g, "--")
    .trim();
  const short = Array.from(line).slice(0, MAX_DESCRIPTION).join("");
  const front = [
    `name: ${skillNameOf(name)}`,
    `description: ${JSON.stringify(short)}`,
    "metadata:",
    `  ${DEFINED.key}: ${DEFINED.value}`,
  ];
  const body = `A tool that was defined in a session. Call \`${name}\`: ${line}`;
  const entry = { name, description, script, parameters: declared };
  return {
    "SKILL.md": `---\n${front.join("\n")}\n---\n\n${body}\n`,
    "tools.json": `${JSON.stringify([{ ...entry, "x-risk": "moderate", "x-side-effects": true }], null, 2)}\n`,
    [script]: code,
  };
}
