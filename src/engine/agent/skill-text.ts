/** How skills are shown to models (skill-formats.md §2, agent-runtime.md §11.4). Pure. */
import { byteOrder } from "../../skill/path.ts";
import type { AgentSkill } from "./spec.ts";

/** The catalogue with its header; the note of what was left out comes on top. */
const MAX_CATALOGUE = 2000;
/** Code points of a description where the catalogue would be too long. */
const SHORT_DESCRIPTION = 160;

const HEADER =
  "These skills hold instructions for special tasks. Call load_skill with a name to bring a skill's instructions into the conversation before you begin such a task.";

/** The models' own skills, in the order of the catalogue. */
export function listedSkills(skills: readonly AgentSkill[]): AgentSkill[] {
  return skills.filter((skill) => !skill.disable_model_invocation).sort((a, b) => byteOrder(a.name, b.name));
}

/** The section that lists what may be loaded; `""`: nothing. The same skills give the same text. */
export function catalogue(skills: readonly AgentSkill[]): string {
  const listed = listedSkills(skills);
  if (listed.length === 0) return "";
  const full = listed.map((skill) => entry(skill, Number.POSITIVE_INFINITY));
  const entries = fits(full) ? full : listed.map((skill) => entry(skill, SHORT_DESCRIPTION));
  const shown: string[] = [];
  for (const text of entries) if (fits([...shown, text])) shown.push(text);
  const left = entries.length - shown.length;
  const note = left === 0 ? "" : `\n(${left} more ${left === 1 ? "skill is" : "skills are"} not listed)`;
  return `${section(shown)}${note}`;
}

const fits = (entries: readonly string[]): boolean => section(entries).length <= MAX_CATALOGUE;

const section = (entries: readonly string[]): string =>
  `${HEADER}\n<available_skills>\n${entries.join("")}</available_skills>`;

function entry({ name, description, when_to_use, files }: AgentSkill, limit: number): string {
  const whole = when_to_use === "" ? description : `${description} Use it when: ${when_to_use}`;
  const points = Array.from(whole);
  const text = points.length <= limit ? whole : `${points.slice(0, limit).join("")}…`;
  const location = files === undefined ? "" : `<location>\n${rootOf(name)}SKILL.md\n</location>\n`;
  return `<skill>\n<name>\n${escaped(name)}\n</name>\n<description>\n${escaped(text)}\n</description>\n${location}</skill>\n`;
}

const rootOf = (name: string): string => `skill://${name}/`;

const ENTITIES = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
  ["'", "&apos;"],
]);

const escaped = (text: string): string => text.replace(/[&<>"']/g, (sign) => ENTITIES.get(sign) ?? sign);

/** Who reads the instructions. */
export interface Reader {
  session_id: string | null;
  /** What followed the prefix that activated the skill; `""`: nothing. */
  arguments: string;
}

/**
 * A skill's instructions with what they leave open put in. `$0` and the like stand for arguments only where there are any:
 * else they are the shell's or a price. A second `$` keeps what follows as it is.
 */
export function instructions(
  { name, prompt, files }: Pick<AgentSkill, "name" | "prompt" | "files">,
  reader: Reader,
): string {
  const words = reader.arguments.split(/\s+/).filter((word) => word !== "");
  const values = new Map([
    ["SKILL_DIR", files === undefined ? "" : rootOf(name).slice(0, -1)],
    ["SESSION_ID", reader.session_id ?? ""],
  ]);
  return prompt.replace(
    /\$(\$?)(?:(ARGUMENTS\b)|(\d+)|\{(?:HULL|HARN)_(SKILL_DIR|SESSION_ID)\})/g,
    (
      found,
      kept: string,
      all: string | undefined,
      digits: string | undefined,
      variable: string | undefined,
    ) => {
      if (kept !== "") return found.slice(1);
      if (all !== undefined) return reader.arguments;
      if (digits === undefined) return values.get(variable ?? "") ?? "";
      return words.length === 0 ? found : (words[Number(digits)] ?? "");
    },
  );
}

/** What brings a skill into the conversation. @param again it is there already, in an earlier version */
export function activation(skill: AgentSkill, reader: Reader, again: boolean): string {
  const parts = [
    ...(again ? [`The skill ${skill.name} was changed: this replaces what you know of it.`] : []),
    `${opening(skill.name)}\n${instructions(skill, reader)}`,
    ...resources(skill),
  ];
  return `${parts.join("\n\n")}\n</skill_content>`;
}

/** How the text begins that holds a skill's instructions. */
const opening = (name: string): string => `<skill_content name="${escaped(name)}">`;

/** Whether a text of the conversation brings this skill's instructions. */
export const brings = (text: string, name: string): boolean => text.includes(`${opening(name)}\n`);

/** What is said of a skill's files; none where it has none. */
export function resources({ name, files }: Pick<AgentSkill, "name" | "files">): string[] {
  if (files === undefined || files.count === 0) return [];
  const { paths, count } = files;
  const lines = paths.map((path) => `<file>${escaped(path)}</file>`);
  const rest = count > paths.length ? [`(${count - paths.length} more)`] : [];
  const where = `The skill's folder is ${rootOf(name)}; paths in the text above begin there. Read them with read_skill_resource.`;
  return [where, ["<skill_resources>", ...lines, ...rest, "</skill_resources>"].join("\n")];
}

/** In place of instructions that the conversation has already. */
export const activeAlready = (name: string): string =>
  `The skill ${name} is active already, and unchanged: follow the instructions that you have.`;
