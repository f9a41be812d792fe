/** A skill that is run itself: what its model is told, and which of its files it may read (skill-formats.md §2). */
import { instructions, resources } from "../engine/agent/skill-text.ts";
import type { AgentSkill } from "../engine/agent/spec.ts";
import { instructionFiles } from "../skill/file-text.ts";
import type { SkillRecord } from "../skill/manifest.ts";

/** Files that the model is told of by name. */
const MAX_LISTED_FILES = 200;

/** The files that a skill's instructions may name. */
export function listedFiles({ files }: SkillRecord): NonNullable<AgentSkill["files"]> {
  const paths = instructionFiles(files.map(({ path }) => path));
  return { paths: paths.slice(0, MAX_LISTED_FILES), count: paths.length };
}

/** Whether its text names one of its files: then its model may read them all. */
export function namesFiles(record: SkillRecord): boolean {
  return listedFiles(record).paths.some((path) => record.body.includes(path));
}

/** Whom a skill is run for. */
interface OwnReader {
  session_id: string | null;
  /** What it was asked, where that is a text. */
  input: string;
}

/**
 * The system text of a skill that is run itself. `$1` and the like stand for words of the input only where the text speaks
 * of `$ARGUMENTS` too: any other body has prices and shell lines.
 */
export function ownInstructions(record: SkillRecord, { session_id, input }: OwnReader): string {
  const { body, manifest } = record;
  const files = listedFiles(record);
  const skill = { name: manifest.slug, prompt: body, files };
  const text = instructions(skill, { session_id, arguments: body.includes("$ARGUMENTS") ? input : "" });
  return [text, ...(namesFiles(record) ? resources(skill) : [])].join("\n\n");
}
