/** Texts of files for models: lines with numbers, and the two ends of a long output. Pure. */

import { firstOf, lastOf } from "../../cut.ts";
import { counted } from "../../plural.ts";
import { MAX_OUTPUT_CHARS, MAX_READ_LINES } from "./definitions.ts";

/** The most characters to show of one line. */
const MAX_LINE_CHARS = 2000;
/** The most characters of a whole answer of `Read`. */
const MAX_READ_CHARS = 200_000;

/**
 * Lines of a text with their numbers, from line `offset` (counted from 1) on, and a hint how to continue.
 * @param limit the most lines
 */
export function numberedLines(text: string, offset: number, limit: number): string {
  if (text === "") return "[hull: the file is empty]";
  const from = Math.max(1, offset);
  const most = Math.min(limit, MAX_READ_LINES);
  const shown: string[] = [];
  let at = startOfLine(text, from);
  if (at === null)
    return `[hull: the file has ${counted(countLines(text), "line")}; line ${from} is behind its end]`;
  let chars = 0;
  while (at !== null && shown.length < most && chars < MAX_READ_CHARS) {
    const end = text.indexOf("\n", at);
    const line = text.slice(at, end === -1 ? text.length : end).replace(/\r$/, "");
    const cut = line.length > MAX_LINE_CHARS ? `${firstOf(line, MAX_LINE_CHARS)} [hull: line cut]` : line;
    shown.push(`${String(from + shown.length).padStart(6)}\t${cut}`);
    chars += cut.length + 8;
    at = end === -1 || end === text.length - 1 ? null : end + 1;
  }
  if (at === null) return shown.join("\n");
  const next = from + shown.length;
  return `${shown.join("\n")}\n[hull: lines ${from} to ${next - 1} of ${countLines(text)}; go on with offset ${next}]`;
}

/** Lines as editors count them: a final line feed begins no further one. */
function countLines(text: string): number {
  let count = text === "" || text.endsWith("\n") ? 0 : 1;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

function startOfLine(text: string, line: number): number | null {
  let at = 0;
  for (let n = 1; n < line; n++) {
    const end = text.indexOf("\n", at);
    if (end === -1 || end === text.length - 1) return null;
    at = end + 1;
  }
  return at;
}

/** Room for the line that says what was left out. */
const REMARK_CHARS = 300;

/**
 * An output within its limit: all of it, or its beginning and end with a line between them that names the file with the
 * whole output.
 * @param head and `tail`: the two ends of the output; if `length` is within the limit, together they are all of it
 */
export function shownOutput(
  { head, tail, length }: { head: string; tail: string; length: number },
  file: string | null,
): string {
  if (length <= MAX_OUTPUT_CHARS) return head + tail;
  const each = Math.floor((MAX_OUTPUT_CHARS - REMARK_CHARS) / 2);
  const where = file === null ? "" : `; the whole output is in ${file}`;
  const first = firstOf(head, each);
  const last = lastOf(tail === "" ? head : tail, each);
  return `${first}\n[hull: ${length - first.length - last.length} of ${length} characters left out${where}]\n${last}`;
}
