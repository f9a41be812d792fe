/** Whether the `allowed-tools` entries of a run's skills approve a call beforehand. Pure. */

import { nameMatches } from "../../skill/glob.ts";
import { objectOf } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { type AllowedTool, allowedTools } from "../../skill/tool-names.ts";
import { firstText } from "../agent/policy.ts";
import { OWN_FOLDER } from "../agent/skill-text.ts";
import type { AgentSkill, AgentTool } from "../agent/spec.ts";
import { isNamed } from "./definitions.ts";
import { runningWords } from "./running-words.ts";
import { type SimpleCommand, splitCommands, type Word } from "./shell-split.ts";

/** Whether a call fits an entry of one of these active skills. */
export function approvedBeforehand(
  skills: readonly AgentSkill[],
  tool: AgentTool,
  args: JsonObject,
): boolean {
  const entries = skills.flatMap(entriesOf).filter((entry) => isNamed(entry.tool, tool));
  return fitsEntries(entries, tool, args);
}

/** Whether a call matches one of the entries for its tool. A command matches if each of its parts does. */
export function fitsEntries(entries: readonly AllowedTool[], tool: AgentTool, args: JsonObject): boolean {
  if (entries.some(({ pattern }) => pattern === undefined)) return true;
  const patterns = entries.flatMap(({ pattern }) => pattern ?? []);
  if (patterns.length === 0) return false;
  if (tool.executor === "workspace" && tool.handler === "Bash") return commandFits(patterns, args.command);
  const { definition } = tool;
  // A tool ignores what it does not declare, and the model chooses the order of what it sends.
  const declared = objectOf(definition.parameters.properties);
  const file = ["file_path", "path"].find(
    (name) => Object.hasOwn(declared, name) && args[name] !== undefined,
  );
  const first = args[file ?? firstText(definition, args)];
  // A path with `..` may lead elsewhere, so it fits nothing.
  if (typeof first !== "string" || /(?:^|\/)\.\.(?:\/|$)/.test(first)) return false;
  return patterns.some((pattern) => nameMatches(pattern.replace(/^\.\//, ""), first.replace(/^\.\//, "")));
}

function entriesOf({ approved_tools = [], dir, plugin_dir }: AgentSkill): AllowedTool[] {
  return allowedTools(approved_tools).map(({ tool, pattern }) =>
    pattern === undefined ? { tool } : { tool, pattern: placed(pattern, dir, plugin_dir) },
  );
}

/** Fills in the skill's folder, which a pattern may name as the skill's text does. */
function placed(pattern: string, dir: string | undefined, plugin: string | undefined): string {
  const named = dir === undefined ? pattern : pattern.replace(OWN_FOLDER, () => dir);
  return plugin === undefined ? named : named.replaceAll("${CLAUDE_PLUGIN_ROOT}", plugin);
}

function commandFits(patterns: readonly string[], command: unknown): boolean {
  if (typeof command !== "string") return false;
  const parts = splitCommands(command);
  if (parts === null || parts.length === 0) return false;
  return parts.every((part) => patterns.some((pattern) => partFits(pattern, part)));
}

/**
 * Whether a command matches a pattern. `git:*` and `git *` mean a command with any arguments; any other pattern is a
 * glob over the whole command.
 */
function partFits(entry: string, { words, assigns, writes }: SimpleCommand): boolean {
  const set = assigns.map((assignment) => `${assignment} `).join("");
  if (!entry.startsWith(set)) return false;
  const pattern = withoutQuotes(entry.slice(set.length)).replace(/^([^*]+) \*$/, "$1:*");
  const shown = pattern.endsWith(":*") ? pattern.slice(0, -2) : pattern;
  if (words.length === 0 || !words[0]?.plain) return false;
  if (writes.length > 0 && !shown.includes(">")) return false;
  if (runningWords(words).some((word) => !names(shown, word))) return false;
  const texts = words.map(({ text, raw, plain }) => (plain && !/[\s'"\\]/.test(text) ? text : raw));
  const written = [...texts, ...writes.map((file) => `> ${file}`)].join(" ");
  if (!pattern.endsWith(":*")) {
    // A star matches only words that the shell does not expand.
    const asWritten = words.every(({ raw, plain }) => plain || pattern.includes(raw));
    return pattern === written || (pattern.includes("*") && asWritten && starFits(pattern, written));
  }
  const wanted = shown.split(/\s+/).filter((word) => word !== "");
  if (wanted.length === 0) return true;
  return wanted.every((word, index) => {
    const own = words[index];
    if (own === undefined || !own.plain) return false;
    return word.includes("*") ? starFits(word, own.text) : own.text === word;
  });
}

/** Whether a pattern with a star matches. A path with `..` may lead elsewhere, so it fits only a pattern with `..`. */
const starFits = (pattern: string, text: string): boolean =>
  nameMatches(pattern, text) && (!LEADS_UP.test(text) || LEADS_UP.test(pattern));

const LEADS_UP = /(?:^|[\s/=])\.\.(?:[\s/]|$)/;

/** Quotes around what the shell reads as the same word without them. */
const withoutQuotes = (pattern: string): string =>
  pattern.replace(/(["'])([^\s"'\\$`]*)\1/g, (_, _quote: string, inner: string) => inner);

/** Whether an entry names a word or an option, not only a longer text that contains it. */
function names(entry: string, { text, raw, plain }: Word): boolean {
  if (!plain || text === "") return entry.includes(raw);
  const option = /^-{1,2}[A-Za-z][A-Za-z-]*/.exec(text)?.[0];
  const wanted = option ?? text;
  for (let at = entry.indexOf(wanted); at !== -1; at = entry.indexOf(wanted, at + 1)) {
    const after = entry[at + wanted.length] ?? " ";
    const ends = option === undefined ? /[\s"'*]/.test(after) : /[^\w-]/.test(after);
    if (ends && /[\s"']/.test(entry[at - 1] ?? " ")) return true;
  }
  return false;
}
