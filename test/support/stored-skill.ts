/** Skills that tests store through `/v1/skills`. */
import { type Anthropic, toFile } from "@anthropic-ai/sdk";

/** Stores a skill with a secret in its text; returns its id. @param files further files, by path */
export async function storedSkill(
  client: Anthropic,
  name: string,
  files: Record<string, string> = {},
): Promise<string> {
  const skill = `---\nname: ${name}\ndescription: Knows ${name}.\n---\nThe secret of ${name} is 42.\n`;
  const all = Object.entries({ "SKILL.md": skill, ...files });
  const uploads = all.map(([path, text]) => toFile(Buffer.from(text), `${name}/${path}`));
  return (await client.skills.create({ files: await Promise.all(uploads) })).id;
}
