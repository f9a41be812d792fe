/** Code execution as the vendors' clients know it: tools that run in the work folder like `Bash`. Pure. */

import { asJson, objectOf } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import type { WorkspaceTool } from "../../skill/tool-names.ts";
import type { AgentTool } from "../agent/spec.ts";
import { closedObject, text, texts, whole } from "../parameters.ts";
import { bothOutputs, commandParts, outputsApart, stderrShown } from "./command-result.ts";
import { EDITOR_TOOL, editorTool } from "./editor-tool.ts";

/** A tool that runs code. */
type CodeTool = "bash_code_execution" | "code_execution" | "litellm_code_execution" | "shell";
/** A tool that comes with a request for code execution. */
export type ContainerTool = CodeTool | typeof EDITOR_TOOL;

/** Folders in the work folder: one for files from the client, one for files to return to it. */
export const CODE_FOLDERS = { input: "input", output: "output" } as const;

/** The folder in the work folder where Python code leaves its state for the next call. */
const PYTHON_STATE = ".hull/python-session";

const FOLDERS =
  "Files of the user are in $INPUT_DIR; files left in $OUTPUT_DIR itself, not in folders in it, are given to the user.";
const FACTS = {
  bash_code_execution: {
    argument: "command",
    description: `Runs a command with bash in the container of this conversation, whose files are kept between calls. ${FOLDERS}`,
    what: "The command",
  },
  code_execution: {
    argument: "code",
    description: `Runs Python code in the container of this conversation. Variables, functions, classes and imports are kept between calls, and so are files. Answers what the code prints. ${FOLDERS}`,
    what: "The Python code",
  },
  litellm_code_execution: {
    argument: "code",
    description:
      "Runs Python code in an isolated sandbox. Its state is kept between calls: variables, functions, classes, imports and files. Files that the code writes come back to the user. The modules of the skills can be imported.",
    what: "The Python code to run",
  },
  shell: {
    argument: "commands",
    description: `Runs commands with bash in the container of this conversation, one after the other, each in a shell of its own. Files are kept between calls. ${FOLDERS}`,
    what: "The commands",
  },
} as const;
const TIMEOUT = whole("Most milliseconds for all commands together", 1);

/** Settings of a container. */
export interface CodeTerms {
  /** Hosts that code may reach; absent: those of the deployment. */
  network?: readonly string[];
  /** Most memory; absent: what the runner allows. */
  memory_bytes?: number;
}

/** The tool in a run's specification. */
export function containerTool(name: ContainerTool, terms: CodeTerms = {}): AgentTool {
  if (name === EDITOR_TOOL) return editorTool();
  const { argument, description, what } = FACTS[name];
  const given =
    name === "shell" ? { [argument]: texts(what), timeout_ms: TIMEOUT } : { [argument]: text(what) };
  return {
    definition: { name, description, parameters: closedObject(given, [argument]) },
    executor: "workspace",
    annotations: { side_effect_level: "process_exec" },
    risk: "dangerous",
    handler: Object.keys(terms).length === 0 ? name : asJson({ code: name, ...terms }),
    skill: null,
  };
}

export const isCodeTool = (name: Json): name is CodeTool =>
  typeof name === "string" && Object.hasOwn(FACTS, name);

/** Reads the handler of a code tool; `null`: it belongs to another tool. */
export function codeHandler(handler: Json): { code: CodeTool; terms: CodeTerms } | null {
  if (isCodeTool(handler)) return { code: handler, terms: {} };
  const { code = null, network, memory_bytes } = objectOf(handler);
  if (!isCodeTool(code)) return null;
  const terms = {
    ...(Array.isArray(network) ? { network: network.filter((host) => typeof host === "string") } : {}),
    ...(typeof memory_bytes === "number" ? { memory_bytes } : {}),
  };
  return { code, terms };
}

/** Whether a tool, by its handler, came with a request for code execution. */
export const isContainerTool = (handler: Json): boolean =>
  handler === EDITOR_TOOL || codeHandler(handler) !== null;

/** The workspace tools whose work a tool of code execution does as well: one that must not run may not run this way. */
export function workLike({ executor, handler }: Pick<AgentTool, "executor" | "handler">): WorkspaceTool[] {
  if (executor !== "workspace") return [];
  if (handler === EDITOR_TOOL) return ["Read", "Write", "Edit"];
  return codeHandler(handler) === null ? [] : ["Bash"];
}

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
  if (name === "shell") return `${folders}\n${shellScript(shellCommands(args))}`;
  const end = endOf(given);
  const [skill] = modules;
  const own = name === "litellm_code_execution" && modules.length === 1 && skill !== undefined;
  const copied = own ? `${copyOf(skill, `${folder}/${skill.slice(skill.lastIndexOf("/") + 1)}`)}\n` : "";
  const path =
    modules.length === 0 ? "" : `export PYTHONPATH='${modules.join(":")}'"\${PYTHONPATH:+:$PYTHONPATH}"\n`;
  const session = `python3 "$HULL_PYTHON_SESSION" '${folder}/${PYTHON_STATE}'`;
  return `${folders}\n${copied}${path}${session} <<'${end}'\n${given}\n${end}`;
}

/** Commands that make a writable copy of the skill, once, and start Python in it. Used if a request has exactly one skill. */
const copyOf = (skill: string, copy: string): string =>
  `[ -e '${copy}' ] || { cp -R '${skill}' '${copy}' && chmod -R u+w '${copy}'; }; cd '${copy}'`;

/** The copy's initial files: SHA-256 by path. Empty unless there is exactly one skill. @param skills all skills of the run */
export function copiesOf(
  skills: readonly { name: string; files: readonly { path: string; sha256: string }[] }[],
): Map<string, string> {
  const [only] = skills;
  if (only === undefined || skills.length > 1) return new Map();
  return new Map(only.files.map(({ path, sha256 }) => [`${only.name}/${path}`, sha256]));
}

/** The commands of a call of the shell. */
export const shellCommands = ({ commands }: JsonObject): string[] =>
  Array.isArray(commands) ? commands.map(String) : [];

/** A marker for the end of a text that does not occur in it. */
function endOf(text: string): string {
  const longest = Array.from(text.matchAll(/END_OF_CODE_*/g)).reduce(
    (length, [end]) => Math.max(length, end.length),
    0,
  );
  return "END_OF_CODE".padEnd(longest + 1, "_");
}

/** Several commands: each reports on both outputs how it ended. The call's outcome is that of the last failed command. */
function shellScript(commands: readonly string[]): string {
  if (commands.length <= 1) return commands[0] ?? "";
  const parts = commands.map((command, index) => {
    const end = endOf(command);
    const read = `hull_command=$(cat <<'${end}'\n${command}\n${end}\n)`;
    return `${read}\n( eval "$hull_command" ); hull_ended=$?; [ $hull_ended = 0 ] || hull_status=$hull_ended\nhull_ended="[hull: command ${index + 1}: exit code $hull_ended]"; printf '\\n%s\\n' "$hull_ended"; printf '\\n%s\\n' "$hull_ended" >&2`;
  });
  return `hull_status=0\n${parts.join("\n")}\nexit $hull_status`;
}

const ENDED = /\n?\[hull: command \d+: exit code (\d+)\]\n?/g;

/** What each command of such a call printed, with the report on its end; the last one without: what follows. */
function byCommand(output: string): { text: string; report: string; exit_code: number | null }[] {
  const commands: { text: string; report: string; exit_code: number | null }[] = [];
  let from = 0;
  for (const { 0: report, 1: code, index } of output.matchAll(ENDED)) {
    commands.push({ text: output.slice(from, index), report, exit_code: Number(code) });
    from = index + report.length;
  }
  return [...commands, { text: output.slice(from), report: "", exit_code: null }];
}

/** The output of a call for code: of each command first its stdout, then its stderr. */
export function inOrder(stdout: string, stderr: string): string {
  const [printed, errors] = [byCommand(stdout), byCommand(stderr)];
  if (printed.length !== errors.length) return bothOutputs(stdout, stderr);
  return printed.map(({ text, report }, n) => bothOutputs(text, errors[n]?.text ?? "") + report).join("");
}

/** What a command of the shell printed, and how it ended; `null`: as the call ended. */
interface ShellOutput {
  stdout: string;
  stderr: string;
  exit_code: number | null;
}

/**
 * The output and end of each command of a call of the shell.
 * @param commands how many the call has
 * @param stderr as of `stderrOf`
 */
export function shellOutputs(
  content: string,
  { commands, exit_code, stderr }: { commands: number; exit_code: number | null; stderr: string },
): ShellOutput[] {
  const errors = byCommand(stderr).map(({ text }) => text);
  const outputs: ShellOutput[] = [];
  for (const { text, report, exit_code: code } of byCommand(content)) {
    const own = errors[outputs.length] ?? "";
    if (report !== "") outputs.push({ ...outputsApart(text, own), exit_code: code });
    else {
      const parts = commandParts(text, exit_code, own);
      const rest = { stdout: parts.stdout, stderr: stderrShown(parts) };
      const last = outputs.at(-1);
      if (last === undefined || outputs.length < commands) outputs.push({ ...rest, exit_code: null });
      else {
        last.stdout += rest.stdout;
        last.stderr = bothOutputs(last.stderr, rest.stderr);
      }
    }
  }
  return outputs;
}
