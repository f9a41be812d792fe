/** Calls that Hull executed, as an Anthropic client receives and returns them: pairs of a call and its result. */
import { firstWords } from "../../cut.ts";
import type { AgentToolResult } from "../../engine/agent/records.ts";
import type { ToolCallBlock, ToolResultMessage } from "../../engine/messages.ts";
import {
  commandParts,
  sentCommand,
  stderrOf,
  stderrShown,
} from "../../engine/workspace-tools/command-result.ts";
import { EDITOR_TOOL } from "../../engine/workspace-tools/editor-tool.ts";
import { toolCall } from "../../model/provider-document.ts";
import { withSentDigits } from "../../skill/exact-json.ts";
import { isObject, objectOf, textOf } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { ToolCallIds } from "../tool-call-ids.ts";

const BASH = "bash_code_execution";
const PYTHON = "code_execution";
const NAMES: readonly string[] = [BASH, PYTHON, EDITOR_TOOL];
/** Whether the tool's result is the text of a command. */
const isCommand = (name: string): boolean => name === BASH || name === PYTHON;

/**
 * The beginning of the ids of these calls. Anthropic's ids of calls that a server carried out begin with `srvtoolu_`;
 * the rest distinguishes Hull's from Anthropic's own. The model's own id follows, which other models get.
 */
const OWN_ID = "srvtoolu_hull_";
const modelId = (id: string): string => (id.startsWith(OWN_ID) ? id.slice(OWN_ID.length) : id);

/** The block of a call. A call of a tool other than those for code appears as a command, with its real name and arguments. */
export function callBlock({ id, name, arguments: given, raw }: ToolCallBlock): JsonObject {
  const input = withSentDigits(given ?? {}, raw);
  const own = NAMES.includes(name);
  return {
    type: "server_tool_use",
    id: OWN_ID + id,
    name: own ? name : BASH,
    input: own ? input : { command: firstWords(`${name} ${raw}`, 1000), tool: name, arguments: input },
    caller: { type: "direct" },
  };
}

/** The block of its result. @param files ids of files that it left for the user */
export function resultBlock(
  { id, name }: ToolCallBlock,
  result: AgentToolResult,
  files: readonly string[],
): JsonObject {
  if (name === EDITOR_TOOL) {
    return { type: `${name}_tool_result`, tool_use_id: OWN_ID + id, content: editorContent(result) };
  }
  const kind = name === PYTHON ? PYTHON : BASH;
  const command = isCommand(name);
  const fault = command ? faultOf(result) : null;
  const parts = command ? commandParts(result.content, result.exit_code, stderrOf(result.value)) : null;
  const content: JsonObject =
    fault === null
      ? {
          type: `${kind}_result`,
          stdout: parts?.stdout ?? result.content,
          stderr: parts === null ? "" : stderrShown(parts),
          return_code: result.exit_code ?? (result.status === "ok" ? 0 : 1),
          content: files.map((file_id) => ({ type: `${kind}_output`, file_id })),
        }
      : { type: `${kind}_tool_result_error`, error_code: fault };
  return { type: `${kind}_tool_result`, tool_use_id: OWN_ID + id, content };
}

/** The content of a result block of the text editor. */
function editorContent({ status, content, value, error_category }: AgentToolResult): JsonObject {
  const facts = objectOf(value);
  if (status !== "ok") {
    const known = typeof facts.error_code === "string" ? facts.error_code : "unavailable";
    const error_code = error_category === "schema_validation" ? "invalid_tool_input" : known;
    return { type: `${EDITOR_TOOL}_tool_result_error`, error_code, error_message: content };
  }
  const kind = "file_type" in facts ? "view" : "is_file_update" in facts ? "create" : "str_replace";
  return { type: `${EDITOR_TOOL}_${kind}_result`, ...facts };
}

/** The text of an editor's result block, for a model. */
function editorText({ type, content, lines, is_file_update, error_message }: JsonObject): string {
  switch (type) {
    case `${EDITOR_TOOL}_view_result`:
      return textOf(content);
    case `${EDITOR_TOOL}_create_result`:
      return is_file_update === true ? "Replaced the file." : "Created the file.";
    case `${EDITOR_TOOL}_str_replace_result`:
      return Array.isArray(lines) ? lines.join("\n") : "Edited the file.";
    default:
      return textOf(error_message);
  }
}

/** Why a command has no exit code; `null`: it has one. */
function faultOf({ status, exit_code, error_category, value }: AgentToolResult): string | null {
  if (isObject(value) && typeof value.error_code === "string") return value.error_code;
  if (status === "ok" || exit_code !== null) return null;
  if (error_category === "timeout") return "execution_time_exceeded";
  return error_category === "schema_validation" ? "invalid_tool_input" : "unavailable";
}

/** The call that a block shows; `null`: it shows none. */
export function executedCall({ type, id, name, input }: JsonObject): ToolCallBlock | null {
  if (type !== "server_tool_use" || typeof id !== "string" || typeof name !== "string") return null;
  if (!NAMES.includes(name) || !isObject(input)) return null;
  const { tool, arguments: given } = input;
  const isOther = typeof tool === "string" && isObject(given);
  return isOther ? toolCall(modelId(id), tool, given) : toolCall(modelId(id), name, input);
}

/** The result that a block shows; `null`: it shows none. @throws InvalidRequest for a result without its call */
export function executedResult(
  { type, tool_use_id, content }: JsonObject,
  called: ToolCallIds,
  path: string,
): ToolResultMessage | null {
  if (!NAMES.some((name) => type === `${name}_tool_result`)) return null;
  if (typeof tool_use_id !== "string" || !isObject(content)) return null;
  const { stdout, stderr, return_code, error_code } = content;
  const failed = typeof error_code === "string";
  const call_id = modelId(tool_use_id);
  const name = called.nameOf(call_id, `${path}.tool_use_id`);
  const exit_code = typeof return_code === "number" ? return_code : null;
  const said = type === `${EDITOR_TOOL}_tool_result` ? [editorText(content)] : [stdout, stderr];
  const texts = (failed ? [`[hull: ${error_code}]`, ...said] : said).filter(
    (text): text is string => typeof text === "string" && text !== "",
  );
  return {
    call_id,
    name,
    content:
      isCommand(name) && !failed ? sentCommand(textOf(stdout), textOf(stderr), exit_code) : texts.join("\n"),
    is_error: failed || (exit_code !== null && exit_code !== 0),
  };
}
