/**
 * Chooses the skill that a prompt asks for. A named skill always wins. Beyond that words decide, and only if they are
 * clear: a wrong skill costs a run more than a skill that its model still has to load. Pure.
 */
import { counted } from "../../plural.ts";
import { globMatchesAny } from "../../skill/glob.ts";
import type { AgentSkill } from "../agent/spec.ts";
import { indexTokens, type WordIndex, wordScores } from "../tool-vault/bm25.ts";
import { distinctWords, isCommon, isProperName, significantWords } from "./words.ts";

export interface Candidate {
  name: string;
  score: number;
  reason: string;
}

/** The score that words alone must reach, and by which factor it must exceed the second best. */
const FLOOR = 1.15;
const MARGIN = 1.3;
/** The share of a prompt's words that a skill must share if only one shared word is rare. */
const COVERED = 0.5;
/** The most skills that one prompt may name. */
const MOST_NAMED = 5;
/** The most candidates to report. */
const MOST_RANKED = 5;
/** A name counts as often as this many mentions in the description. */
const NAME_WEIGHT = 3;

/** The words of the skills, which rank prompts. Building it costs time in proportion to the descriptions. */
interface SkillIndex {
  words: WordIndex;
  /** The score of one mention of a word that only one skill has. */
  rarest: number;
  /** Words and spellings of each skill's name. */
  names: readonly ({ words: readonly string[] } & Spellings)[];
}

export function indexSkills(skills: readonly AgentSkill[]): SkillIndex {
  const known = new Map<string, readonly string[]>();
  const names = skills.map((skill) => ({
    words: significantWords(skill.name, known),
    ...spellingsOf(skill),
  }));
  const words = indexTokens(
    skills.map(({ description, when_to_use }, number) => {
      const own = names[number]?.words ?? [];
      const all = significantWords(description, known);
      for (let i = 0; i < NAME_WEIGHT; i++) all.push(...own);
      return when_to_use === "" ? all : [...all, ...significantWords(when_to_use, known)];
    }),
  );
  return { words, rarest: Math.log((skills.length - 0.5) / 1.5 + 1), names };
}

/**
 * The skills to activate: all that a prompt names or whose `paths` match a file; otherwise the one that the words
 * clearly indicate. The words of a prompt do not choose a skill that it calls by `/name`, if users may not call it.
 * `active`: the names of the chosen. `candidates`: those and the next best, best first.
 */
export function chooseSkills(
  skills: readonly AgentSkill[],
  index: SkillIndex,
  prompt: string,
  files: readonly string[],
): { active: string[]; candidates: Candidate[] } {
  const text = prompt.normalize("NFC").toLowerCase();
  const barred = skills.flatMap(({ name, user_invocable }, number) => {
    const calls = user_invocable === false ? (index.names[number]?.called ?? []) : [];
    return calls.some((form) => holds(text, form)) ? [name] : [];
  });
  const open = ({ name }: AgentSkill): boolean => !barred.includes(name);
  const { found, detail } = rank(skills, index, prompt, open);
  const listed = found.filter((number) => skills[number]?.disable_model_invocation === false);
  const ranked = listed.slice(0, MOST_RANKED).map(detail);
  const asked = skills.flatMap((skill, number): Candidate[] => {
    if (skill.disable_model_invocation) return [];
    const name = index.names[number];
    if (name !== undefined && !barred.includes(skill.name) && isNamedIn(text, name))
      return [{ name: skill.name, score: 3, reason: "named in the prompt" }];
    const paths = skill.paths.filter((glob) => globMatchesAny(glob, files)).length;
    if (paths === 0) return [];
    return [
      {
        name: skill.name,
        score: 2,
        reason: `${counted(paths, "path glob")} matched`,
      },
    ];
  });
  if (asked.length > 0) {
    const active = asked.sort((a, b) => b.score - a.score).slice(0, MOST_NAMED);
    const others = ranked.filter(({ name }) => asked.every((one) => one.name !== name));
    return {
      active: active.map(({ name }) => name),
      candidates: [...active, ...others].slice(0, MOST_RANKED),
    };
  }
  // Only users may call a hidden skill. If the words mean it, they mean no other.
  const [first, second] = found.slice(0, 2).map(detail);
  const clear =
    first !== undefined &&
    !first.hidden &&
    first.score >= FLOOR &&
    first.score >= MARGIN * (second?.score ?? 0) &&
    first.clear;
  return {
    active: clear ? [first.name] : [],
    candidates: ranked.map(({ name, score, reason }) => ({ name, score, reason })),
  };
}

interface Ranked extends Candidate {
  /** It shares more than one word, or those of its name. */
  clear: boolean;
  /** The model may not load it. */
  hidden: boolean;
}

/** The skills that share words with a text and that the model may load, best first, up to a limit. */
export const rankSkills = (
  skills: readonly AgentSkill[],
  index: SkillIndex,
  text: string,
  most: number,
): Candidate[] => {
  const { found, detail } = rank(skills, index, text, (skill) => !skill.disable_model_invocation);
  return found.slice(0, most).map(detail);
};

/**
 * The wanted skills that share words with a text: their numbers, best first, and a function that says more of one,
 * which costs more than its rank.
 */
function rank(
  skills: readonly AgentSkill[],
  { words, rarest, names }: SkillIndex,
  text: string,
  wanted: (skill: AgentSkill) => boolean,
): { found: number[]; detail: (number: number) => Ranked } {
  const query = distinctWords(text);
  const scores = wordScores(words, query);
  const found: number[] = [];
  for (const [number, score] of scores.entries()) {
    const skill = skills[number];
    if (score > 0 && skill !== undefined && wanted(skill)) found.push(number);
  }
  found.sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b);
  const detail = (number: number): Ranked => {
    const shared = query.filter((word) => has(words, word, number));
    // A single word of a longer name counts as a plain word.
    const own = names[number]?.words ?? [];
    const parts = shared.filter((word) => own.includes(word));
    const called = parts.length > 1 || parts.some((word) => own.length === 1 || !isCommon(word));
    const clear = called ? shared.length > 1 || own.length === 1 : isClear(shared, query.length);
    const reason = `shares ${shared.slice(0, 8).join(", ")}`;
    const score = Math.round(((scores[number] ?? 0) / Math.max(rarest, 0.5)) * 1000) / 1000;
    const { name = "", disable_model_invocation: hidden = false } = skills[number] ?? {};
    return { name, score, reason, clear, hidden };
  };
  return { found, detail };
}

/**
 * Whether shared words, none of them of the skill's name, show more than that both text and skill are about computers.
 */
function isClear(shared: readonly string[], words: number): boolean {
  const rare = shared.filter((word) => !isCommon(word)).length;
  return rare > 1 || (rare === 1 && shared.length > 1 && shared.length >= COVERED * words);
}

function has({ postings }: WordIndex, word: string, number: number): boolean {
  const list = postings.get(word) ?? [];
  for (let i = 0; i < list.length; i += 2) if (list[i] === number) return true;
  return false;
}

interface Spellings {
  /** It names the skill wherever it is, since it has several words, or one that means nothing else. */
  alone: boolean;
  spellings: readonly string[];
  /** Beginnings of messages that call it. */
  called: readonly string[];
}

function spellingsOf({ name, plugin }: Pick<AgentSkill, "name" | "plugin">): Spellings {
  const own = name.normalize("NFC").toLowerCase();
  const spoken = own.replaceAll(/[-_]/g, " ");
  return {
    alone: spoken.includes(" ") || isProperName(own),
    spellings: spoken === own ? [own] : [own, spoken],
    called: plugin === undefined ? [`/${own}`] : [`/${own}`, `/${plugin.toLowerCase()}:${own}`],
  };
}

/**
 * Whether a prompt names a skill: as `/name`, in quotes, next to the word skill, or, unless the name is a common word, by
 * the name as it is.
 * @param text in lower case
 */
function isNamedIn(text: string, { alone, spellings, called }: Spellings): boolean {
  if (called.some((form) => holds(text, form))) return true;
  return spellings.some((spelling) => {
    if (!text.includes(spelling)) return false;
    if (alone && holds(text, spelling)) return true;
    const adjacent = [
      `${spelling} skill`,
      `${spelling} agent skill`,
      `skill ${spelling}`,
      `skill named ${spelling}`,
    ];
    const quoted = ["'", '"', "`"].map((quote) => `${quote}${spelling}${quote}`);
    return adjacent.some((form) => holds(text, form)) || quoted.some((form) => text.includes(form));
  });
}

/** Whether a text contains another one as whole words. */
function holds(text: string, part: string): boolean {
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + 1)) {
    const before = text.charAt(at - 1);
    const after = text.charAt(at + part.length);
    const joined = /[\p{L}\p{N}_/-]/u;
    if (!joined.test(before) && !/[\p{L}\p{N}_-]/u.test(after)) return true;
  }
  return false;
}
