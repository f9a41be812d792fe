/** The member `container` of a request: where code runs, and which skills are there. */
import { isObject } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import { wrong } from "./wrong.ts";

/** The most skills of a request; and of one that uses the beta of skills. */
const MOST_SKILLS = 20;
const MOST_SKILLS_OF_BETA = 8;
export const SKILLS_BETA = "skills-2025-10-02";

export interface SkillReference {
  /** `native`: a skill of the provider itself. */
  kind: "local" | "native";
  id: string;
  /** `null`: the newest. */
  version: string | null;
  /** Whether the whole text goes into the system text. Otherwise the model sees the skill in a list, and loads it. */
  full: boolean;
  /** The request names it in the style of LiteLLM's clients. */
  litellm: boolean;
  /** Path of the reference in the request. */
  path: string;
  /** The reference as given. */
  given: JsonObject;
}

export interface ContainerParams {
  /** Id of the container; `null`: a new one. */
  id: string | null;
  skills: SkillReference[];
  /** The answer itself should contain the files that code makes. */
  includes_files: boolean;
}

/**
 * @param betas named by the client
 * @throws InvalidRequest
 */
export function readContainer(
  given: Json | undefined,
  betas: readonly string[] = [],
): ContainerParams | null {
  if (given === undefined || given === null) return null;
  if (typeof given === "string") return { id: given, skills: [], includes_files: false };
  if (!isObject(given)) throw wrong("container", "the id of a container, or an object, is expected");
  const { id = null, skills: listed = null, injection = null } = given;
  if (id !== null && typeof id !== "string") throw wrong("container.id", "a text is expected");
  if (injection !== null && injection !== "full" && injection !== "progressive") {
    throw wrong("container.injection", "full or progressive is expected");
  }
  if (listed !== null && !Array.isArray(listed)) throw wrong("container.skills", "a list is expected");
  const list = listed ?? [];
  const most = betas.includes(SKILLS_BETA) ? MOST_SKILLS_OF_BETA : MOST_SKILLS;
  if (list.length > most) {
    throw wrong("container.skills", `${list.length} skills; at most ${most} are accepted`);
  }
  const skills = list.map((skill, n) => readSkill(skill, `container.skills.${n}`, injection));
  const includes_files = given.include_generated_files === true || skills.some(({ litellm }) => litellm);
  return { id, skills, includes_files };
}

/** The prefix that LiteLLM's clients put before the id of a skill that its proxy stores. */
const LITELLM = /^(?:litellm:litellm_|litellm:|litellm_)(?=skill_)/;

function readSkill(skill: Json, path: string, injection: "full" | "progressive" | null): SkillReference {
  if (!isObject(skill) || typeof skill.skill_id !== "string") {
    throw wrong(`${path}.skill_id`, "the id of a skill is required");
  }
  const { skill_id, type, version = null } = skill;
  const prefixed = LITELLM.test(skill_id);
  return {
    kind: type === "anthropic" && !prefixed ? "native" : "local",
    id: skill_id.replace(LITELLM, ""),
    version: version === null || version === "latest" ? null : String(version),
    full: injection === null ? prefixed : injection === "full",
    litellm: prefixed,
    path,
    given: skill,
  };
}
