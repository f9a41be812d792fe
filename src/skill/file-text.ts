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

/** The text, with replacement characters and a fault if the bytes are not UTF-8. A byte order mark stays. */
export function decodeText(bytes: Uint8Array): { text: string; fault: EncodingFault | null } {
  const text = utf8OrNull(bytes);
  if (text !== null) return { text, fault: null };
  const decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });
  return { text: decoder.decode(bytes), fault: encodingFault(bytes) };
}

export interface EncodingFault {
  /** The end of a sentence that begins with the file's name. */
  is: string;
  /** The first line that is not UTF-8. */
  at: { line: number; column: number };
}

const LINE_FEED = 0x0a;

/** What is wrong with bytes that are not UTF-8. */
function encodingFault(bytes: Uint8Array): EncodingFault {
  // What Windows calls Unicode: PowerShell 5 and old editors write it.
  const utf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  if (utf16) return { is: "is UTF-16, not UTF-8", at: { line: 1, column: 1 } };
  let line = 1;
  let from = 0;
  // No character of UTF-8 but the line feed has this byte.
  for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, from)) {
    if (utf8OrNull(bytes.subarray(from, end)) === null) break;
    from = end + 1;
    line += 1;
  }
  return { is: "is not valid UTF-8", at: { line, column: 1 } };
}
