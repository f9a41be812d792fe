/** Why a SKILL.md has no frontmatter: distinguishes the faults that occur in public collections. */

interface FrontmatterFault {
  code: string;
  /** From 1. */
  line: number;
  message: string;
  hint: string;
}

/** The line, from 1, where a merge left its two versions; `null`: there is none. */
export function conflictMarker(text: string): number | null {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => /^<{7}(?: |$)/.test(line));
  return start >= 0 && lines.some((line, i) => i > start && /^>{7}(?: |$)/.test(line)) ? start + 1 : null;
}

export function conflictFault(line: number): FrontmatterFault {
  return {
    code: "conflict_marker",
    line,
    message: "The frontmatter has two versions: somebody committed a Git merge with an unresolved conflict.",
    hint: "Keep one version, and remove the lines that begin with <<<<<<<, ======= and >>>>>>>.",
  };
}

/** @param text with line feeds, not beginning with `---` */
export function missingFrontmatter(text: string): FrontmatterFault {
  const target = /^[^\s:<>"|?*]{1,1024}$/.exec(text.trim())?.[0];
  if (target !== undefined && /\/|\.md$/i.test(target)) {
    return {
      code: "link_as_text",
      line: 1,
      message: `The file holds only the path ${target}: Git checked a symbolic link out as text.`,
      hint: "Run git config core.symlinks true and check out again, or replace the link with a copy of its target.",
    };
  }
  const conflict = conflictMarker(text);
  if (conflict === 1) return conflictFault(conflict);
  const fence = /^(?:```|~~~)[^\n]*\n\s*---[ \t]*\n/.exec(text);
  if (fence !== null) {
    return {
      code: "frontmatter_fenced",
      line: 1,
      message: "The frontmatter is inside a code fence, so it is an example and not the file's own.",
      hint: "Remove the line of backticks before the first ---, and the one that closes it.",
    };
  }
  const unopened =
    /^(?:[^\S\n]*\n)*(?:[A-Za-z][\w-]*:(?:[ \t][^\n]*)?|[^\S\n]+\S[^\n]*|#[^\n]*)\n(?:[^\n]*\n){0,100}?---[ \t]*(?:\n|$)/.exec(
      text,
    );
  if (unopened !== null && /^(?:name|description):/m.test(unopened[0])) {
    return {
      code: "frontmatter_unopened",
      line: 1,
      message: "The line --- before the fields is missing; the one after them is there.",
      hint: "Add a line --- as the first one of the file.",
    };
  }
  return {
    code: "frontmatter_missing",
    line: 1,
    message: "SKILL.md must begin with YAML frontmatter between two lines that hold only ---.",
    hint: "Begin the file with: ---, name: …, description: …, ---.",
  };
}
