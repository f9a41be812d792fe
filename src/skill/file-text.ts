/** SKILL.md as a file: its name, its bytes, its size. */
import { utf8OrNull } from "../bytes.ts";
import type { Findings } from "./findings.ts";

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

const LONG_LINES = 500;
const LARGE_BYTES = 100 * 1024;

/** Reports that a file is too long to be good for the models that read it. */
export function noteSize(findings: Findings, text: string, body: string): void {
  const lines = body.split("\n").length;
  const hint = "Move details into files that the body names, to be read when they are needed.";
  if (lines > LONG_LINES)
    findings.info("body_long", {}, `The body has ${lines} lines; up to ${LONG_LINES} are recommended.`, hint);
  const { length } = new TextEncoder().encode(text);
  if (length > LARGE_BYTES)
    findings.warning(
      "file_large",
      {},
      `SKILL.md has ${length} bytes; a model reads all of them together.`,
      hint,
    );
}

/** Reports that SKILL.md has another name. */
export function reportName(findings: Findings, name: string): void {
  const message = `The file is called ${name}; other readers of skills look for SKILL.md.`;
  findings.warning("file_name_case", {}, message, "Rename it to SKILL.md.");
}

/** Reports that a file is not UTF-8. @param refused whether that is an error */
export function reportEncoding(findings: Findings, refused: boolean): void {
  const hint = "Save the file as UTF-8.";
  if (refused) findings.error("encoding", {}, "SKILL.md is not valid UTF-8.", hint);
  else
    findings.warning("encoding", {}, "SKILL.md is not valid UTF-8; Hull reads other bytes as U+FFFD.", hint);
}
