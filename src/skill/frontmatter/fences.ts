/** Where the frontmatter of a SKILL.md begins and ends. */

/** A SKILL.md in two parts. */
export interface Split {
  frontmatter: string;
  /** Offset of `frontmatter` in the text. */
  from: number;
  /** Trimmed. */
  body: string;
}

type SplitFault = "frontmatter_missing" | "frontmatter_unclosed";

/** Replaces CRLF and CR by line feeds. */
export const withLineFeeds = (text: string): string => text.replace(/\r\n?/g, "\n");

/** Splits as the reference validator does: the first three characters, then up to the next `---`, wherever it is. */
export function splitStrictly(text: string): Split | SplitFault {
  if (!text.startsWith("---")) return "frontmatter_missing";
  const end = text.indexOf("---", 3);
  if (end < 0) return "frontmatter_unclosed";
  return { frontmatter: text.slice(3, end), from: 3, body: text.slice(end + 3).trim() };
}

const FENCED = /^(---[ \t]*\n)(?:([\s\S]*?)\n)?---[ \t]*(?:\n|$)/;

/** Splits between two lines that hold only `---`; `null` if there are none. */
export function splitAtLines(text: string): Split | null {
  const found = FENCED.exec(text);
  if (found === null) return null;
  const [whole, opening = "", frontmatter = ""] = found;
  return { frontmatter, from: opening.length, body: text.slice(whole.length).trim() };
}
