/** Entries of `public_skills` in hull.toml that make nothing public. */
import type { HullConfig } from "../config.ts";
import type { BuiltSkill } from "./skill.ts";

/** A line for each slug that no served skill has. */
export function unknownPublicSkills(
  { public_skills }: Pick<HullConfig, "public_skills">,
  skills: readonly Pick<BuiltSkill, "card">[],
): string {
  const served = new Set(skills.map(({ card }) => card.slug));
  return public_skills
    .filter((slug) => !served.has(slug))
    .map((slug) => `public_skills of hull.toml names ${slug}, but no skill has this slug.\n`)
    .join("");
}
