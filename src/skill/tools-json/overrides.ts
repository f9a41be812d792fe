/** Tools of the same name in several skills: the skill loaded last wins. */
import type { SkillTool } from "../manifest.ts";

/** By `slug/tool`, the slugs of the skills whose tool it replaces. @param skills in load order */
export function overridesOf(skills: readonly { slug: string; tools: readonly SkillTool[] }[]): {
  [tool: string]: string[];
} {
  const owners = new Map<string, string[]>();
  const overrides: { [tool: string]: string[] } = {};
  for (const { slug, tools } of skills) {
    for (const { name } of tools) {
      const earlier = owners.get(name) ?? [];
      if (earlier.length > 0) overrides[`${slug}/${name}`] = earlier;
      owners.set(name, [...earlier, slug]);
    }
  }
  return overrides;
}
