/** Code execution as the vendors' clients know it: tools that run in the work folder as `Bash` does. Pure. */

import type { Json, JsonObject } from "../../skill/manifest.ts";
import type { AgentTool } from "../agent/spec.ts";

/** Which tool a client asked for. */
export type CodeTool = "bash_code_execution" | "code_execution" | "litellm_code_execution";

/** Folders of the work folder: what a client sends in, and what it gets back. */
export const CODE_FOLDERS = { input: "input", output: "output" } as const;

const FOLDERS = "Files of the user are in $INPUT_DIR; files left in $OUTPUT_DIR are given to the user.";
const FACTS = {
  bash_code_execution: {
    argument: "command",
    description: `Runs a command with bash in the container of this conversation, whose files are kept between calls. ${FOLDERS}`,
    what: "The command",
  },
  code_execution: {
    argument: "code",
    description: `Runs Python code in the container of this conversation, whose files are kept between calls. Answers what the code prints. ${FOLDERS}`,
    what: "The Python code",
  },
  litellm_code_execution: {
    argument: "code",
    description:
      "Runs Python code in an isolated sandbox. Its files are kept between calls, and files that the code writes come back to the user. The modules of the skills can be imported.",
    what: "The Python code to run",
  },
} as const;

/** The tool as a run has it. */
export function codeTool(name: CodeTool): AgentTool {
  const { argument, description, what } = FACTS[name];
  return {
    definition: {
      name,
      description,
      parameters: {
        type: "object",
        properties: { [argument]: { type: "string", description: what } },
        required: [argument],
        additionalProperties: false,
      },
    },
    executor: "workspace",
    annotations: { side_effect_level: "process_exec" },
    risk: "dangerous",
    handler: name,
    skill: null,
  };
}

export const isCodeTool = (name: Json): name is CodeTool => typeof name === "string" && name in FACTS;

/**
 * The bash command of a call.
 * @param folder the work folder, an absolute path
 * @param modules folders whose modules Python code may import
 */
export function codeCommand(
  name: CodeTool,
  args: JsonObject,
  folder: string,
  modules: readonly string[] = [],
): string {
  const { input, output } = CODE_FOLDERS;
  const given = String(args[FACTS[name].argument] ?? "");
  const folders = `export INPUT_DIR='${folder}/${input}' OUTPUT_DIR='${folder}/${output}'; mkdir -p "$INPUT_DIR" "$OUTPUT_DIR"`;
  if (name === "bash_code_execution") return `${folders}\n${given}`;
  let end = "END_OF_CODE";
  while (given.includes(end)) end += "_";
  const path =
    modules.length === 0 ? "" : `export PYTHONPATH='${modules.join(":")}'"\${PYTHONPATH:+:$PYTHONPATH}"\n`;
  return `${folders}\n${path}python3 - <<'${end}'\n${given}\n${end}`;
}
