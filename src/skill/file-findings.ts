/** Findings about files: their names, and the encoding and the size of SKILL.md. */
import type { EncodingFault } from "./file-text.ts";
import type { Findings } from "./findings.ts";
import { alikePaths } from "./path.ts";

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

/** Reports two files that a copy of the folder may hold as one. */
export function reportAlike(findings: Findings, paths: readonly string[]): void {
  const [first, second] = alikePaths(paths) ?? [];
  if (first === undefined || second === undefined) return;
  const message = `${first} and ${second} are one file on macOS and Windows: only letter case or the form of their Unicode characters differs.`;
  findings.part(second).warning("file_names_alike", {}, message, "Rename one of them.");
}

/** Reports that a file is not UTF-8. @param refused whether that is an error */
export function reportEncoding(findings: Findings, { is, at }: EncodingFault, refused: boolean): void {
  if (refused) findings.error("encoding", { at }, `SKILL.md ${is}.`, SAVE_AS_UTF8);
  else
    findings.warning("encoding", { at }, `SKILL.md ${is}; Hull reads other bytes as U+FFFD.`, SAVE_AS_UTF8);
}

export const SAVE_AS_UTF8 = "Save the file as UTF-8.";
