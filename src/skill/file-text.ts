/** SKILL.md as a file: its name, its bytes. */
import { utf8OrNull } from "../bytes.ts";

const NAMES = ["SKILL.md", "skill.md"];

/** The entry of a folder that is its SKILL.md: that name, `skill.md`, or either in any letter case; `null`: none. */
export function skillFileName(names: readonly string[]): string | null {
  return (
    NAMES.find((name) => names.includes(name)) ??
    names.filter((name) => name.toLowerCase() === "skill.md").sort()[0] ??
    null
  );
}

/** The file that vouches for a skill. */
export const SIGNATURE_FILE = "SKILL.sig";

/** Files of a skill's folder that only Hull uses. */
const FOR_HULL = ["hooks.ts", "hooks.js", "tools.json", "hull.toml", SIGNATURE_FILE];

/** The files of a skill that its instructions may name: all except SKILL.md and Hull's own. */
export function instructionFiles(paths: readonly string[]): string[] {
  const own = skillFileName(paths);
  return paths.filter((path) => path !== own && !FOR_HULL.includes(path));
}

/** The text, with replacement characters if the bytes are not UTF-8. A byte order mark stays. */
export function decodeText(bytes: Uint8Array): { text: string; valid: boolean } {
  const text = utf8OrNull(bytes);
  if (text !== null) return { text, valid: true };
  return { text: new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(bytes), valid: false };
}
