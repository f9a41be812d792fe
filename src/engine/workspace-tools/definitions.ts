/** The workspace tools: their descriptions for models, and what policies know about them. Pure. */

import { nameMatches } from "../../skill/glob.ts";
import type { Risk } from "../../skill/manifest.ts";
import { hullToolName, type WorkspaceTool } from "../../skill/tool-names.ts";
import type { AgentSpec, AgentTool, ToolAnnotations } from "../agent/spec.ts";
import type { ToolDefinition } from "../messages.ts";
import { closedObject, text, whole } from "../parameters.ts";

export const DEFAULT_BASH_MS = 120_000;
export const MAX_BASH_MS = 600_000;
/** Characters of a command's output that the model sees. */
export const MAX_OUTPUT_CHARS = 30_000;
/** Lines that `Read` shows by default. */
export const MAX_READ_LINES = 2000;
/** The most paths that `Glob` returns, and lines that `Grep` returns. */
export const MAX_FOUND = 1000;

interface Facts {
  description: string;
  properties: ToolDefinition["parameters"];
  required: string[];
  risk: Risk;
  annotations: ToolAnnotations;
}

const PATH = "Path of the file: absolute, or relative to the folder that the last command ended in";
const reads = (kind: "read" | "search", path: string): ToolAnnotations => ({
  kind,
  side_effect_level: "read_only",
  idempotent: true,
  arg_schema: { path_params: [path] },
});
const WRITES: ToolAnnotations = {
  side_effect_level: "workspace_write",
  arg_schema: { path_params: ["file_path"] },
};

const FACTS: Record<WorkspaceTool, Facts> = {
  Bash: {
    description:
      "Runs a command with bash in the work folder. The folder that a command ends in is where the next one begins; what it leaves in the background ends with it. Answers stdout and stderr as they came, and the exit code where it is not 0.",
    properties: {
      command: text("The command"),
      timeout_ms: {
        ...whole(`Time limit in ms; ${DEFAULT_BASH_MS} unless given, at most ${MAX_BASH_MS}`, 1),
        maximum: MAX_BASH_MS,
      },
      description: text("What the command does, in a few words"),
    },
    required: ["command"],
    risk: "dangerous",
    annotations: { side_effect_level: "process_exec" },
  },
  Read: {
    description: `Reads a file and answers its lines with their numbers, at most ${MAX_READ_LINES} at a time. Shows images and PDF files as they are.`,
    properties: {
      file_path: text(PATH),
      offset: whole("Number of the first line; 1 unless given", 1),
      limit: whole(`How many lines; ${MAX_READ_LINES} unless given`, 1),
    },
    required: ["file_path"],
    risk: "safe",
    annotations: reads("read", "file_path"),
  },
  Write: {
    description: "Creates a file, or replaces it, with the folders that it needs.",
    properties: { file_path: text(PATH), content: text("All of the file's text") },
    required: ["file_path", "content"],
    risk: "moderate",
    annotations: WRITES,
  },
  Edit: {
    description:
      "Replaces a text in a file by another one. The old text must stand in the file exactly once, unless replace_all is true.",
    properties: {
      file_path: text(PATH),
      old_string: text("The text to replace, exactly as in the file"),
      new_string: text("The text in its place"),
      replace_all: { type: "boolean", description: "Replace every occurrence" },
    },
    required: ["file_path", "old_string", "new_string"],
    risk: "moderate",
    annotations: WRITES,
  },
  Glob: {
    description: `Finds files by a glob such as **/*.py, newest first, at most ${MAX_FOUND}.`,
    properties: {
      pattern: text("The glob: * stops at /, ** does not, {a,b} is either"),
      path: text("The folder to look in; the one that the last command ended in unless given"),
    },
    required: ["pattern"],
    risk: "safe",
    annotations: reads("search", "path"),
  },
  Grep: {
    description:
      "Finds lines of files that match a regular expression. Look-around and back-references are not available.",
    properties: {
      pattern: text("The regular expression, matched within lines"),
      path: text("A file, or the folder to look in; the one that the last command ended in unless given"),
      glob: text("Only files whose path matches this glob, such as *.md"),
      type: text("Only files of this type, such as js, py or go"),
      output_mode: {
        type: "string",
        enum: ["content", "files_with_matches", "count"],
        description: "Lines with their numbers, names of files, or counts; files_with_matches unless given",
      },
      "-i": { type: "boolean", description: "Ignore case" },
      "-A": whole("Lines to show after each match"),
      "-B": whole("Lines to show before each match"),
      "-C": whole("Lines to show before and after each match"),
      context: whole("The same as -C"),
      head_limit: whole(`How many lines of the answer to show; ${MAX_FOUND} unless given`),
      offset: whole("How many lines of the answer to leave out before these"),
    },
    required: ["pattern"],
    risk: "safe",
    annotations: reads("search", "path"),
  },
};

/**
 * One of the tools, for a run's specification.
 * @param taken names of the run's other tools, to which this tool does not answer
 */
function workspaceTool(name: WorkspaceTool, taken: readonly string[]): AgentTool {
  const { description, properties, required, risk, annotations } = FACTS[name];
  return {
    definition: { name, description, parameters: closedObject(properties, required) },
    executor: "workspace",
    annotations,
    risk,
    handler: name,
    skill: null,
    ...(taken.length === 0 ? {} : { other_names: [...taken] }),
  };
}

/** The wanted tools without those whose name, in any letter case, another tool of the run has. */
export function workspaceTools(
  wanted: readonly WorkspaceTool[],
  others: readonly { definition: ToolDefinition }[],
): AgentTool[] {
  const names = others.map(({ definition }) => definition.name);
  const folded = new Set(names.map((name) => name.toLowerCase()));
  return wanted
    .filter((name) => !folded.has(name.toLowerCase()))
    .map((name) =>
      workspaceTool(
        name,
        names.filter((other) => hullToolName(other) === name),
      ),
    );
}

/** Whether a tool of a run is a workspace tool. */
export function isWorkspaceTool({ tools }: Pick<AgentSpec, "tools">, name: string): boolean {
  return tools.some(({ definition, executor }) => executor === "workspace" && definition.name === name);
}

/** Whether a name, or a glob, matches a tool: its own name, or one from other clients. */
export function isNamed(glob: string, { definition, executor, other_names = [] }: NamedTool): boolean {
  if (nameMatches(glob, definition.name)) return true;
  return executor === "workspace" && !other_names.includes(glob) && hullToolName(glob) === definition.name;
}

/** Whether an entry of a list that takes no globs names a tool. */
export const isListed = (name: string, tool: NamedTool): boolean =>
  name === tool.definition.name || (!/[*?]/.test(name) && isNamed(name, tool));

type NamedTool = Pick<AgentTool, "definition" | "executor" | "other_names">;
