/** The list of skills that a run's model may load, within a token budget. Pure. */
import { utf8Length } from "../../bytes.ts";
import { firstOf } from "../../cut.ts";
import { byteOrder } from "../../skill/path.ts";
import type { AgentSkill } from "../agent/spec.ts";

/** Tokens of the list by default. */
export const CATALOG_TOKENS = 4000;
/** If there are more skills than this, or if they do not fit, the model searches them. */
export const MOST_LISTED = 100;
const BYTES_PER_TOKEN = 4;
/** The shortest length to which a description is cut. */
const SHORTEST = 40;

const HEADER =
  "These skills hold instructions for special tasks. Call load_skill with a name to bring a skill's instructions into the conversation before you begin such a task.";
const SEARCH = "There are more skills than are listed here: look for others with search_skills.";

/**
 * The section of the system text; `""`: there is nothing to list. Descriptions stay whole while they fit; beyond that
 * the longest are shortened evenly. The same skills give the same text.
 * @param skills in rank order, if some may have to be left out
 */
export function catalogSection(skills: readonly AgentSkill[], tokens: number, searchable: boolean): string {
  if (skills.length === 0) return "";
  const room = roomFor(tokens, searchable);
  const sized = fitting(skills, room).sort((a, b) => byteOrder(a.skill.name, b.skill.name));
  const most = longest(sized, room);
  const left = skills.length - sized.length;
  const note =
    left === 0 || searchable ? "" : `\n(${left} more ${left === 1 ? "skill is" : "skills are"} not listed)`;
  const entries = sized.map(({ skill }) => entry(skill, most));
  return `${section(entries, searchable)}${note}`;
}

/** Whether the section lists all these skills. */
export function listsAll(skills: readonly AgentSkill[], tokens: number): boolean {
  return skills.length <= MOST_LISTED && fitting(skills, roomFor(tokens, false)).length === skills.length;
}

/** Bytes for the entries. */
const roomFor = (tokens: number, searchable: boolean): number =>
  Math.max(0, tokens * BYTES_PER_TOKEN - utf8Length(section([], searchable)));

/** A skill with the size of its entry. */
interface Sized {
  skill: AgentSkill;
  /** Bytes without the description. */
  frame: number;
  /** Characters of the description. */
  length: number;
  /** Bytes per character of the description. */
  each: number;
}

function sizedOf(skill: AgentSkill): Sized {
  const text = described(skill);
  const frame = utf8Length(entry({ ...skill, description: "", when_to_use: "" }, SHORTEST)) + "…".length * 3;
  return {
    skill,
    frame,
    length: text.length,
    each: text === "" ? 1 : utf8Length(escaped(text)) / text.length,
  };
}

const sizeAt = ({ frame, length, each }: Sized, most: number): number =>
  frame + Math.ceil(Math.min(length, most) * each);

/** The first skills that fit with the shortest descriptions. */
function fitting(skills: readonly AgentSkill[], room: number): Sized[] {
  let sum = 0;
  const shown: Sized[] = [];
  for (const skill of skills) {
    const sized = sizedOf(skill);
    sum += sizeAt(sized, SHORTEST);
    if (sum > room && shown.length > 0) break;
    shown.push(sized);
  }
  return shown;
}

/** The greatest length of descriptions at which all entries fit. */
function longest(sized: readonly Sized[], room: number): number {
  const fits = (most: number): boolean => sized.reduce((sum, one) => sum + sizeAt(one, most), 0) <= room;
  const whole = Math.max(0, ...sized.map(({ length }) => length));
  if (fits(whole)) return whole;
  let [low, high] = [SHORTEST, whole];
  while (high - low > 4) {
    const middle = Math.floor((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

function section(entries: readonly string[], searchable: boolean): string {
  const head = searchable ? `${HEADER} ${SEARCH}` : HEADER;
  return `${head}\n<available_skills>\n${entries.join("")}</available_skills>`;
}

const described = ({ description, when_to_use }: AgentSkill): string =>
  when_to_use === "" ? description : `${description} Use it when: ${when_to_use}`;

function entry(skill: AgentSkill, most: number): string {
  const whole = described(skill);
  const text = whole.length <= most ? whole : `${firstOf(whole, most)}…`;
  // A skill from the request has no files, so it needs no location.
  const folder = skill.dir ?? (skill.files === undefined ? null : `skill://${skill.name}`);
  const location = folder === null ? "" : `<location>\n${folder}/SKILL.md\n</location>\n`;
  return `<skill>\n<name>\n${escaped(skill.name)}\n</name>\n<description>\n${escaped(text)}\n</description>\n${location}</skill>\n`;
}

const ENTITIES = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
  ["'", "&apos;"],
]);

export const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (sign) => ENTITIES.get(sign) ?? sign);
