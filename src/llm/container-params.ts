/** The member `container` of a request: where code runs, and which skills are there. */
import * as z from "zod/mini";
import type { Json, JsonObject } from "../skill/manifest.ts";
import { lenient, listOf, requiredText, text, wrong } from "./members.ts";
import { MOST_SKILLS, MOST_SKILLS_OF_BETA } from "./vendor-limits.ts";

export const SKILLS_BETA = "skills-2025-10-02";

const maybe = z.exactOptional;
const skillShape = z.lazy(() =>
  z.catchall(
    z.object(
      {
        skill_id: requiredText("the id of a skill is required"),
        type: maybe(z.nullable(z.string("a string is expected"))),
        version: maybe(z.nullable(z.union([z.string(), z.number()], "a version is a string or a number"))),
      },
      "the id of a skill is required",
    ),
    z.custom<Json>(),
  ),
);

/** Where code runs: in the container of an id, or in one with these skills. */
export const containerShape = z.lazy(() =>
  z.nullish(
    z.union([
      z.string(),
      z.object(
        {
          id: text(),
          injection: z.nullish(z.enum(["full", "progressive"], "full or progressive is expected")),
          skills: listOf(skillShape),
          include_generated_files: lenient(z.boolean()),
        },
        "the id of a container, or an object, is expected",
      ),
    ]),
  ),
);

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
  given: z.infer<typeof containerShape>,
  betas: readonly string[] = [],
): ContainerParams | null {
  if (given === undefined || given === null) return null;
  if (typeof given === "string") return { id: given, skills: [], includes_files: false };
  const { id = null, injection = null } = given;
  const list = given.skills ?? [];
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

function readSkill(
  skill: z.infer<typeof skillShape>,
  path: string,
  injection: "full" | "progressive" | null,
): SkillReference {
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
