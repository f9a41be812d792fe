/** Why a SKILL.md has no frontmatter: distinguishes the faults that occur in public collections. */
import type { Findings } from "../findings.ts";

/** What `frontmatter_missing` says. */
export const MUST_BEGIN = [
  { at: { line: 1, column: 1 } },
  "SKILL.md must begin with YAML frontmatter between two lines that hold only ---.",
  "Begin the file with: ---, name: …, description: …, ---.",
] as const;
const [TOP] = MUST_BEGIN;

/** The line, from 1, where a merge left its two versions; `null`: there is none. */
export function conflictMarker(text: string): number | null {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => /^<{7}(?: |$)/.test(line));
  return start >= 0 && lines.some((line, i) => i > start && /^>{7}(?: |$)/.test(line)) ? start + 1 : null;
}

export function reportConflict(findings: Findings, line: number): void {
  findings.error(
    "conflict_marker",
    { at: { line, column: 1 } },
    "The frontmatter has two versions: somebody committed a Git merge with an unresolved conflict.",
    "Keep one version, and remove the lines that begin with <<<<<<<, ======= and >>>>>>>.",
  );
}

/** @param text with line feeds, not beginning with `---` */
export function reportMissing(findings: Findings, text: string): void {
  const target = /^[^\s:<>"|?*]{1,1024}$/.exec(text.trim())?.[0];
  const unopened =
    /^(?:[^\S\n]*\n)*(?:[A-Za-z][\w-]*:(?:[ \t][^\n]*)?|[^\S\n]+\S[^\n]*|#[^\n]*)\n(?:[^\n]*\n){0,100}?---[ \t]*(?:\n|$)/;
  if (target !== undefined && /\/|\.md$/i.test(target)) {
    findings.error(
      "link_as_text",
      TOP,
      `The file holds only the path ${target}: Git checked a symbolic link out as text.`,
      "Run git config core.symlinks true and check out again, or replace the link with a copy of its target.",
    );
  } else if (conflictMarker(text) === 1) reportConflict(findings, 1);
  else if (/^(?:```|~~~)[^\n]*\n\s*---[ \t]*\n/.test(text)) {
    findings.error(
      "frontmatter_fenced",
      TOP,
      "The frontmatter is inside a code fence, so it is an example and not the file's own.",
      "Remove the line of backticks before the first ---, and the one that closes it.",
    );
  } else if (/^(?:name|description):/m.test(unopened.exec(text)?.[0] ?? "")) {
    findings.error(
      "frontmatter_unopened",
      TOP,
      "The line --- before the fields is missing; the one after them is there.",
      "Add a line --- as the first one of the file.",
    );
  } else findings.error("frontmatter_missing", ...MUST_BEGIN);
}
