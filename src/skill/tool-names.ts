/**
 * The names of tools in skills: Hull's own, those of other clients for the same tools, and the entries of
 * `allowed-tools`, such as `Bash(git:*)`.
 */
import { starMatches } from "./glob.ts";

/** The workspace tools, under the names that models and skills know best. */
export const WORKSPACE_TOOLS = ["Bash", "Read", "Write", "Edit", "Glob", "Grep"] as const;
export type WorkspaceTool = (typeof WORKSPACE_TOOLS)[number];

/** Hull's name for what other clients call a sub-agent. */
export const SUB_AGENT = "sub_agent";

/** With it a model makes tools of its own. */
export const DEFINE_TOOL = "define_tool";

/** Hull's name, and the names of the same tool elsewhere. Letter case, `_` and `-` do not count. */
const ALIASES: Record<WorkspaceTool, readonly string[]> & Record<string, readonly string[]> = {
  Bash: ["shell", "terminal", "run_command", "run_shell_command", "run_terminal_cmd", "execute_command"],
  Read: ["read_file", "view", "view_file", "open_file"],
  Write: ["write_file", "create_file", "write_to_file"],
  Edit: [
    "str_replace",
    "str_replace_editor",
    "str_replace_based_edit_tool",
    "edit_file",
    "multi_edit",
    "replace",
  ],
  Glob: ["LS", "list_dir", "list_directory", "list_files", "file_search"],
  Grep: ["grep_search", "search_file_content"],
  [SUB_AGENT]: ["task", "agent", "spawn_agent"],
  load_skill: ["skill", "activate_skill"],
  read_skill_resource: [],
  task_ledger: [
    "todo_write",
    "todo_read",
    "update_plan",
    "task_create",
    "task_get",
    "task_list",
    "task_update",
  ],
};

const fold = (name: string): string => name.toLowerCase().replace(/[_-]/g, "");

const BY_FOLDED: ReadonlyMap<string, string> = new Map(
  Object.entries(ALIASES).flatMap(([tool, names]) =>
    [tool, ...names].map((name): [string, string] => [fold(name), tool]),
  ),
);

/**
 * Hull's name for a tool: that of the workspace tool or built-in tool that the name means, `server__tool` for
 * `mcp__server__tool`, `server__*` for `mcp__server`; any other name stays.
 */
export function hullToolName(name: string): string {
  const remote = /^mcp__(.+?)(?:__(.*))?$/is.exec(name);
  if (remote !== null) return `${(remote[1] ?? "").replaceAll("-", "_")}__${remote[2] || "*"}`;
  return BY_FOLDED.get(fold(name)) ?? name;
}

/** The workspace tool that a name means; `null`: none. */
export function workspaceTool(name: string): WorkspaceTool | null {
  const tool = hullToolName(name);
  return WORKSPACE_TOOLS.find((each) => each === tool) ?? null;
}

/**
 * The tools that a name means. `*` matches any characters. An exact name wins over an alias, which wins over a name
 * that differs only in letter case.
 * @returns names of `offered`, in its order
 */
export function toolsNamed(name: string, offered: readonly string[]): string[] {
  if (offered.includes(name)) return [name];
  const wanted = hullToolName(name);
  if (offered.includes(wanted)) return [wanted];
  return offered.filter((tool) => starMatches(wanted.toLowerCase(), tool.toLowerCase()));
}

/** One entry of `allowed-tools`. */
export interface AllowedTool {
  /** Hull's name for the tool; `*` in it matches any characters. */
  tool: string;
  /** The form of its calls, e.g. `git:*`; absent means any call fits. */
  pattern?: string;
}

/**
 * The entries of `allowed-tools`: from a list, or from text separated by commas or blanks. `Bash(git:*, npm test)` is
 * one entry for each of its patterns.
 */
export function allowedTools(texts: readonly string[]): AllowedTool[] {
  return splitAllowedTools(texts).flatMap((entry) => {
    const [, name = "", inside] = /^([^(]*?)\s*(?:\((.*?)\)?)?$/s.exec(entry) ?? [];
    const tool = hullToolName(name);
    const patterns = tool === "Bash" ? (inside?.split(/,\s+/) ?? []) : inside === undefined ? [] : [inside];
    const limits = patterns.map((pattern) => pattern.trim()).filter((pattern) => pattern !== "");
    const any = limits.length === 0 || limits.some((pattern) => /^:?\*+$/.test(pattern));
    return any ? [{ tool }] : limits.map((pattern) => ({ tool, pattern }));
  });
}

/**
 * The entries as written: split on commas, semicolons and blanks outside parentheses; brackets and quotes are removed.
 */
export function splitAllowedTools(texts: readonly string[]): string[] {
  return texts.flatMap((text) => {
    const entries: string[] = [];
    const ends = closings(text);
    const behind = (pattern: RegExp, from: number): number => {
      pattern.lastIndex = from;
      return from + (pattern.exec(text)?.[0].length ?? 0);
    };
    for (let at = 0; at < text.length; ) {
      const name = text.slice(at, behind(/[^\s,;(]*/y, at));
      const open = name === "" ? at : behind(/\s*/y, at + name.length);
      const inside = name !== "" && text[open] === "(";
      // Without a closing parenthesis it ends at the next separator.
      const end = inside ? (ends.get(open) ?? behind(/[^\s,;]*/y, open)) : at + (name.length || 1);
      const pattern = inside ? text.slice(open, end) : "";
      const bare = name.replace(/^[["']+/, "").replace(/(?<!["'\]])["'\]]+$/, "");
      const entry = bare + pattern;
      if (/[\p{L}\p{N}*]/u.test(entry)) entries.push(entry);
      at = behind(/["'\]]*/y, end);
    }
    return entries;
  });
}

/** The end of each parenthesised part that has one, by its beginning. */
function closings(text: string): ReadonlyMap<number, number> {
  const open: number[] = [];
  const ends = new Map<number, number>();
  for (const { 0: sign, index } of text.matchAll(/[()]/g)) {
    if (sign === "(") open.push(index);
    else {
      const start = open.pop();
      if (start !== undefined) ends.set(start, index + 1);
    }
  }
  return ends;
}
