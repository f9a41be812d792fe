/** The system prompt as a list of texts. Pure. */
import type { SystemBlock } from "../engine/messages.ts";

/**
 * The caller's blocks, with what Hull added in blocks around them.
 * @returns `null`: the prompt has no blocks, or does not contain them
 */
export function systemList(system: string, blocks: readonly SystemBlock[] = []): SystemBlock[] | null {
  const given = blocks
    .map(({ text }) => text)
    .join("\n\n")
    .trim();
  const at = system.indexOf(given);
  if (given === "" || at === -1) return null;
  const before = { text: system.slice(0, at).trim() };
  const after = { text: system.slice(at + given.length).trim() };
  return [before, ...blocks, after].filter(({ text }) => text.trim() !== "");
}
