/**
 * Tools without a definition, whose calls OpenAI's API shows in items of their own and the client carries out: patches of
 * files, and the shell of earlier models. Every model gets them as functions.
 */
import type { ToolDefinition } from "../../engine/messages.ts";
import { closedObject, text, texts, whole } from "../../engine/parameters.ts";
import { objectOf } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";

export const PATCH = "apply_patch";
export const COMMAND = "local_shell";

export const OWN_TOOLS: Readonly<Record<typeof PATCH | typeof COMMAND, ToolDefinition>> = {
  [PATCH]: {
    name: PATCH,
    description: "Creates, changes or deletes one of the user's files.",
    parameters: closedObject(
      {
        type: { type: "string", enum: ["create_file", "update_file", "delete_file"] },
        path: text("Relative to the workspace root"),
        diff: text(
          "The change, absent to delete. To create a file, every line begins with +. To update one, hunks follow: a line " +
            "@@, which may name the class or function where it is, then lines that begin with - (removed), + (added) or a " +
            "blank (unchanged). Hunks have no line numbers; about three unchanged lines around a change show its place.",
        ),
      },
      ["type", "path"],
    ),
  },
  [COMMAND]: {
    name: COMMAND,
    description: "Runs a program on the user's machine.",
    parameters: closedObject(
      {
        command: texts("The program and its arguments"),
        working_directory: text("Where it runs"),
        env: { type: "object", additionalProperties: { type: "string" }, description: "Further variables" },
        timeout_ms: whole("Most milliseconds", 1),
      },
      ["command"],
    ),
  },
};

/** The members of a call's item that say what to do. @param given the model's arguments */
export function ownMembers(tool: keyof typeof OWN_TOOLS, given: JsonObject): JsonObject {
  if (tool === COMMAND) return { action: { command: [], env: {}, ...given, type: "exec" } };
  return { operation: { type: "update_file", path: "", ...given } };
}

/** The arguments in a call's item. */
export function ownArguments({ type, operation, action }: JsonObject): JsonObject {
  if (type === "apply_patch_call") return objectOf(operation);
  const members = Object.entries(objectOf(action));
  return Object.fromEntries(members.filter(([name, value]) => name !== "type" && value !== null));
}

/** The items of OpenAI's API name the call of an output in one of two members. */
export const withCallId = (item: JsonObject): JsonObject =>
  item.type === "local_shell_call_output" && item.call_id === undefined && item.id !== undefined
    ? { ...item, call_id: item.id }
    : item;

/** What the model reads as the result of a patch. */
export const patchResult = ({ status, output }: JsonObject): { content: string; is_error: boolean } => ({
  content: typeof output === "string" && output !== "" ? output : String(status ?? ""),
  is_error: status === "failed",
});
