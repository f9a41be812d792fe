/** Anthropic's text editor for code execution: views, creates and changes files of the work folder. Pure. */
import { counted } from "../../plural.ts";
import type { AgentTool } from "../agent/spec.ts";
import { closedObject, text } from "../parameters.ts";

export const EDITOR_TOOL = "text_editor_code_execution" as const;

/** The tool for the run's specification. */
export function editorTool(): AgentTool {
  const properties = {
    command: {
      type: "string",
      enum: ["view", "create", "str_replace"],
      description: "view a file or list a folder, create or replace a file, or replace a text in a file",
    },
    path: text("Path of the file or folder: absolute, or relative to the work folder"),
    file_text: text("Of create: all of the file's text"),
    old_str: text("Of str_replace: the text to replace, which must stand in the file exactly once"),
    new_str: text("Of str_replace: the text in its place; none unless given"),
    view_range: {
      type: "array",
      items: { type: "integer" },
      description: "Of view: the first and the last line, counted from 1; -1 is the end of the file",
    },
  };
  return {
    definition: {
      name: EDITOR_TOOL,
      description: "Views, creates and changes text files in the container of this conversation.",
      parameters: closedObject(properties, ["command", "path"]),
    },
    executor: "workspace",
    annotations: { side_effect_level: "workspace_write", arg_schema: { path_params: ["path"] } },
    risk: "moderate",
    handler: EDITOR_TOOL,
    skill: null,
  };
}

/** The result of a view: the requested lines. */
interface ViewedLines {
  content: string;
  num_lines: number;
  start_line: number;
  total_lines: number;
}

/** The requested lines, or a fault as a sentence. @param range first and last line, `-1`: the end; `null`: all lines */
export function viewedLines(whole: string, range: readonly number[] | null): ViewedLines | { fault: string } {
  const lines = linesOf(whole);
  const [first = 1, last = -1] = range ?? [];
  const end = last === -1 ? lines.length : Math.min(last, lines.length);
  const fits = range === null || (range.length === 2 && first >= 1 && first <= end);
  if (!fits)
    return {
      fault: `view_range is [first, last], counted from 1; the file has ${counted(lines.length, "line")}.`,
    };
  const shown = lines.slice(first - 1, end);
  return { content: shown.join("\n"), num_lines: shown.length, start_line: first, total_lines: lines.length };
}

/** A change as one hunk of a unified diff, without context lines. */
interface ChangedLines {
  lines: string[];
  old_start: number;
  old_lines: number;
  new_start: number;
  new_lines: number;
}

export function changedLines(before: string, after: string): ChangedLines {
  const [old, made] = [linesOf(before), linesOf(after)];
  const most = Math.min(old.length, made.length);
  let same = 0;
  while (same < most && old[same] === made[same]) same++;
  let behind = 0;
  while (behind < most - same && old.at(-1 - behind) === made.at(-1 - behind)) behind++;
  const removed = old.slice(same, old.length - behind);
  const added = made.slice(same, made.length - behind);
  // As in a unified diff: a part without lines starts at the line before it.
  const start = (lines: readonly string[]): number => same + (lines.length === 0 ? 0 : 1);
  return {
    lines: [...removed.map((line) => `-${line}`), ...added.map((line) => `+${line}`)],
    old_start: start(removed),
    old_lines: removed.length,
    new_start: start(added),
    new_lines: added.length,
  };
}

/** The lines as editors count them: a line feed at the end does not begin another one. */
const linesOf = (whole: string): string[] => (whole === "" ? [] : whole.replace(/\n$/, "").split("\n"));
