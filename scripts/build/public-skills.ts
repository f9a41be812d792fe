/** Entries of `public_skills` in hull.toml that make nothing public. */
import type { BuiltSkill } from "../build/skill.ts";

/** A line for each slug that no served skill has. @param named the entries */
export function unknownPublicSkills(
  named: readonly string[],
  skills: readonly Pick<BuiltSkill, "card">[],
): string[] {
  const served = new Set(skills.map(({ card }) => card.slug));
  return named
    .filter((slug) => !served.has(slug))
    .map((slug) => `public_skills of hull.toml names ${slug}, but no skill has this slug.`);
}
