/** How models see skills' instructions. Pure. */
import { memo } from "../../memo.ts";
import { own } from "../../skill/json.ts";
import { byteOrder } from "../../skill/path.ts";
import { textCommands } from "../../skill/text-commands.ts";
import { escaped } from "../skill-choice/catalog.ts";
import type { AgentSkill, AgentSpec } from "./spec.ts";

/** The skills that models may use, sorted by name. */
export const listedSkills = memo((skills: readonly AgentSkill[]): readonly AgentSkill[] =>
  skills.filter((skill) => !skill.disable_model_invocation).sort((a, b) => byteOrder(a.name, b.name)),
);

/** The skills of a run, its own first. */
export const skillsOf = ({ own_skill, skills }: Pick<AgentSpec, "own_skill" | "skills">): AgentSkill[] =>
  own_skill === undefined ? skills : [own_skill, ...skills];

/** The skills whose folders the run's commands find: its own ones, and those above that watch its calls. */
export const skillsWithFoldersOf = (spec: AgentSpec): AgentSkill[] => [
  ...skillsOf(spec),
  ...(spec.watchers ?? []),
];

/** Whether a skill says that it is called with arguments: other texts with `$1` contain prices and shell lines. */
export const takesArguments = ({ prompt, takes_arguments }: AgentSkill): boolean =>
  takes_arguments === true || prompt.includes("$ARGUMENTS");

/** For whom the instructions are written. */
export interface Reader {
  session_id: string | null;
  /** What followed the prefix that activated the skill; `""`: nothing. */
  arguments: string;
  /** All skills of the run, whose folders texts may name. Absent: only the skill itself. */
  skills?: readonly AgentSkill[];
  /** The output of commands in the text, by command as `commandsOf` names it. Absent: none ran. */
  outputs?: { [command: string]: string };
  /** Leaves the commands in the text, since `ownSystem` inserts their output. */
  later?: true;
}

/** The part of a skill that the text needs. */
type Shown = Pick<AgentSkill, "name" | "prompt" | "files" | "dir" | "plugin_dir">;

/**
 * A skill's instructions with all placeholders filled in. `$0` and the like stand for arguments only if there are so
 * many, and if they are not prices, such as `$2.50` or `$5M`; otherwise they belong to the shell. A second `$` or a
 * backslash keeps what follows as it is. In a command that ran or is still to run, the shell fills them in.
 */
export function instructions(skill: Shown, reader: Reader): string {
  const { prompt, dir, plugin_dir } = skill;
  const words = wordsOf(reader.arguments);
  const folder = dir ?? (skill.files === undefined ? "" : `skill://${skill.name}`);
  const values = new Map([
    ["SKILL_DIR", folder],
    ["SESSION_ID", reader.session_id ?? ""],
  ]);
  const pattern =
    /([\\$]?)\$(?:(ARGUMENTS\b)(?:\[(\d+)\])?|(\d+)(?![.,]?\d|\w)|\{(?:CLAUDE|HULL|HARN)_(SKILL_DIR|SESSION_ID)\})/g;
  const filled = (
    found: string,
    kept: string,
    all: string | undefined,
    nth: string | undefined,
    digits: string | undefined,
    variable: string | undefined,
  ): string => {
    const word = words[Number(digits ?? nth)];
    if (digits !== undefined && word === undefined && kept !== "$") return found;
    if (kept !== "") return found.slice(1);
    if (all !== undefined && nth === undefined) return reader.arguments;
    return word ?? values.get(variable ?? "") ?? "";
  };
  const fill = (text: string): string => text.replace(pattern, filled);
  const placed = withFolders(prompt, dir, plugin_dir, reader.skills ?? []);
  return withOutputs(placed, reader.outputs, fill, reader.later === true ? String : fill);
}

/** The text with `$ARGUMENTS[0]` for the first of its arguments' names, and so on. A backslash keeps a name as it is. */
export function withPositions(text: string, names: readonly string[] = []): string {
  if (names.length === 0) return text;
  // The name that a longer one begins with must not come first.
  const any = names.toSorted((a, b) => b.length - a.length).join("|");
  return text.replace(
    new RegExp(`(?<![\\\\$])\\$(${any})(?!\\w)`, "g"),
    (_, name: string) => `$ARGUMENTS[${names.indexOf(name)}]`,
  );
}

/** Ways in which the texts of several clients name the skill's own folder. */
export const OWN_FOLDER =
  /\$\{(?:CLAUDE_|HULL_|HARN_)?SKILL_DIR\}|\$(?:CLAUDE_|HULL_|HARN_)?SKILL_DIR\b|\{\{ ?(?:baseDir|skill_dir) ?\}\}|\{(?:baseDir|skill_dir)\}|<path-to-skill>/g;
const PLUGIN_FOLDER = /\$\{CLAUDE_PLUGIN_ROOT\}|\$CLAUDE_PLUGIN_ROOT\b/g;

/** Whether a skill's text names its own folder or its plugin's. */
export const namesFolder = ({ prompt }: Pick<AgentSkill, "prompt">): boolean =>
  prompt.search(OWN_FOLDER) !== -1 || prompt.search(PLUGIN_FOLDER) !== -1;

/** Where other clients keep their skills, also those of a collection: `~/.claude/skills/COLLECTION/NAME`. */
const CLIENT_FOLDERS =
  /(?:(?:~|\$HOME|\$\{HOME\})\/|(?<![\w./~-])(?:\.\/)?)\.(?:claude|agents)\/skills\/([A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)(?:\/([A-Za-z0-9_-]+)(?![\w.-]))?/g;

function withFolders(
  text: string,
  dir: string | undefined,
  plugin: string | undefined,
  skills: readonly AgentSkill[],
): string {
  const dirs = new Map(
    skills.flatMap(({ name, dir: other }) => (other === undefined ? [] : [[name, other]])),
  );
  const near = dir === undefined ? text : text.replace(OWN_FOLDER, () => dir);
  const all = plugin === undefined ? near : near.replace(PLUGIN_FOLDER, () => plugin);
  return all.replace(CLIENT_FOLDERS, (found, first: string, second?: string) => {
    const folder = dirs.get(first);
    if (second === undefined) return folder ?? found;
    return folder === undefined ? (dirs.get(second) ?? found) : `${folder}/${second}`;
  });
}

/** Splits words as a shell does: quotes keep words together. */
export function wordsOf(given: string): string[] {
  return Array.from(given.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g), ([, double, single, plain]) =>
    String(double ?? single ?? plain),
  );
}

/** Whether a skill's text has commands. */
export const hasCommands = memo(
  ({ prompt }: Pick<AgentSkill, "prompt">): boolean => textCommands(prompt).length > 0,
);

/** A text of a skill with the folders filled in that it names. @param skills all skills of the run */
export const placedText = ({ dir, plugin_dir }: Shown, text: string, skills: readonly AgentSkill[]): string =>
  withFolders(text, dir, plugin_dir, skills);

/** The commands in a skill's text, with its folders filled in. @param skills all skills of the run */
export function commandsOf(skill: Shown, skills: readonly AgentSkill[]): string[] {
  if (!hasCommands(skill)) return [];
  const text = placedText(skill, skill.prompt, skills);
  return [...new Set(textCommands(text).map(({ command }) => command))];
}

/**
 * The text with the outputs of its commands.
 * @param fill what to do with the text around them
 * @param fillCommand what to do with a command that did not run
 */
function withOutputs(
  text: string,
  outputs: Reader["outputs"],
  fill: (text: string) => string,
  fillCommand = fill,
): string {
  let shown = "";
  let at = 0;
  for (const { command, start, end } of textCommands(text)) {
    const output = own(outputs ?? {}, command) ?? fillCommand(text.slice(start, end));
    shown += fill(text.slice(at, start)) + output;
    at = end;
  }
  return shown + fill(text.slice(at));
}

/** The text for commands that did not run. */
const NOT_RUN =
  "Commands of the form !`...` or ```! in the text above were not run: their output is not in the text. Run them yourself where you may.";

/** The text that adds a skill to the conversation. @param again the conversation has an earlier version of it */
export function activation(skill: AgentSkill, reader: Reader, again: boolean): string {
  const parts = [
    ...(again ? [`The skill ${skill.name} was changed: this replaces what you know of it.`] : []),
    [opening(skill.name), ...ownText(skill, reader)].join("\n"),
    ...resources(skill),
  ];
  return `${parts.join("\n\n")}\n</skill_content>`;
}

/** A skill's instructions after the line that names its folder. */
export function ownText(skill: Shown, reader: Reader): string[] {
  const open =
    reader.later !== true &&
    commandsOf(skill, reader.skills ?? []).some((command) => !Object.hasOwn(reader.outputs ?? {}, command));
  return [
    ...(skill.dir === undefined ? [] : [`Base directory for this skill: ${skill.dir}\n`]),
    instructions(skill, reader),
    ...(open ? [`\n[hull: ${NOT_RUN}]`] : []),
  ];
}

/** The system text of a run that is a skill, with the outputs of its commands. */
export function ownSystem(system: string, skill: AgentSkill | undefined, outputs: Reader["outputs"]): string {
  if (skill === undefined || !hasCommands(skill)) return system;
  return outputs === undefined ? `${system}\n\n[hull: ${NOT_RUN}]` : withOutputs(system, outputs, String);
}

/** The first line of a text with a skill's instructions. */
const opening = (name: string): string => `<skill_content name="${escaped(name)}">`;

/** Whether a text of the conversation holds this skill's instructions. */
export const brings = (text: string, name: string): boolean => text.includes(`${opening(name)}\n`);

/** The text about a skill's files; empty if it has none. */
export function resources({ name, files, dir }: Pick<AgentSkill, "name" | "files" | "dir">): string[] {
  if (files === undefined || files.count === 0) return [];
  const { paths, count } = files;
  const lines = paths.map((path) => `<file>${escaped(path)}</file>`);
  const rest = count > paths.length ? [`(${count - paths.length} more)`] : [];
  const folder = dir ?? `skill://${name}/`;
  const where = `The skill's folder is ${folder}; paths in the text above begin there. Read them with read_skill_resource.`;
  return [where, ["<skill_resources>", ...lines, ...rest, "</skill_resources>"].join("\n")];
}

/** Replaces instructions that the conversation already has. */
export const activeAlready = (name: string): string =>
  `The skill ${name} is active already, and unchanged: follow the instructions that you have.`;
