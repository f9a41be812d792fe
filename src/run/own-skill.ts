/** A skill that is run itself: the text for its model, and the files that the model may read. */
import { hasCommands, ownText, resources, takesArguments } from "../engine/agent/skill-text.ts";
import type { AgentSkill } from "../engine/agent/spec.ts";
import { instructionFiles } from "../skill/file-text.ts";
import type { SkillRecord } from "../skill/manifest.ts";
import { programFiles } from "../skill/workspace-tools.ts";

/** The most files that are listed to the model. */
const MAX_LISTED_FILES = 200;

/** The files that a skill's instructions may name. */
export function listedFiles(record: SkillRecord): NonNullable<AgentSkill["files"]> {
  return listed(instructionFiles(record.files.map(({ path }) => path)));
}

/**
 * The same for the run's own skill. Files that its tools execute are not for its model, unless the text mentions them.
 */
export function ownFiles(record: SkillRecord): NonNullable<AgentSkill["files"]> {
  const handled = programFiles(record.files, record.manifest, record.tools ?? []);
  const all = instructionFiles(record.files.map(({ path }) => path));
  return listed(all.filter((path) => !handled.has(path) || record.body.includes(path)));
}

function listed(paths: readonly string[]): NonNullable<AgentSkill["files"]> {
  return { paths: paths.slice(0, MAX_LISTED_FILES), count: paths.length };
}

/** For which run the instructions are written. */
interface OwnReader {
  session_id: string | null;
  /** The run's prompt, if it is a text. */
  input: string;
  /** All skills of the run. */
  skills: readonly AgentSkill[];
}

/** A skill that is run itself, with what the commands in its text need. @param given what it was called with */
export const calledWith = (skill: AgentSkill, given: string): AgentSkill =>
  given !== "" && hasCommands(skill) ? { ...skill, arguments: given } : skill;

/** The system text of a skill that is run itself. The input fills it in if the skill takes arguments. */
export function ownInstructions(skill: AgentSkill, { session_id, input, skills }: OwnReader): string {
  const given = takesArguments(skill) ? input : "";
  const text = ownText(skill, { session_id, arguments: given, skills, later: true }).join("\n");
  return [text, ...(skill.dir === undefined ? [] : resources(skill))].join("\n\n");
}
