/** Exact replacement in a text (`Edit`). Pure. */

/** Lines that an error names. */
const MAX_NAMED = 20;

export type Edited = { text: string; count: number } | { fault: string };

/** The tool's parameter names; `all`: the one that replaces every occurrence, `null` if there is none. */
interface Names {
  from: string;
  to: string;
  all: string | null;
}

const EDIT_NAMES: Names = { from: "old_string", to: "new_string", all: "replace_all" };

/**
 * The text with `from` replaced by `to`; a fault says how often and in which lines `from` stands. `Read` shows no carriage
 * returns: in a text whose lines end in CRLF, line ends of `from` and `to` mean CRLF.
 */
export function edited(text: string, from: string, to: string, all: boolean, names = EDIT_NAMES): Edited {
  if (from === "") return { fault: `${names.from} is empty. Write the whole file instead.` };
  if (from === to) return { fault: `${names.from} and ${names.to} are the same.` };
  const offsets = placesOf(text, from);
  if (offsets.length === 0 && from.includes("\n") && !from.includes("\r")) {
    const [before, after] = [withCrlf(from), withCrlf(to)];
    if (text.includes(before)) return edited(text, before, after, all, names);
  }
  const [first] = offsets;
  if (first === undefined) return { fault: notFound(text, from, names) };
  if (offsets.length > 1 && !all) {
    const lines = linesOf(text, offsets);
    const named = lines.slice(0, MAX_NAMED).join(", ");
    const more = lines.length > MAX_NAMED ? ` and ${lines.length - MAX_NAMED} more` : "";
    const or = names.all === null ? "" : `, or set ${names.all}`;
    return {
      fault: `${names.from} occurs in the file ${offsets.length} times, in the lines ${named}${more}. Give more of the text around it${or}.`,
    };
  }
  return { text: text.split(from).join(to), count: offsets.length };
}

const withCrlf = (text: string): string => text.replace(/\r?\n/g, "\r\n");

/** Positions of non-overlapping occurrences, from the start. */
function placesOf(text: string, part: string): number[] {
  const offsets: number[] = [];
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) offsets.push(at);
  return offsets;
}

function linesOf(text: string, offsets: readonly number[]): number[] {
  const lines: number[] = [];
  let line = 1;
  let end = text.indexOf("\n");
  for (const offset of offsets) {
    for (; end !== -1 && end < offset; end = text.indexOf("\n", end + 1)) line++;
    lines.push(line);
  }
  return lines;
}

/** The fault if the text does not occur. Names the line where its first line occurs, ignoring spaces at its ends. */
function notFound(text: string, from: string, names: Names): string {
  const none = `${names.from} occurs in the file 0 times.`;
  const wanted = from
    .split("\n")
    .map((line) => line.trim())
    .find((line) => line !== "");
  if (wanted === undefined) return `${none} Read the file and copy the text exactly.`;
  const near = text
    .split("\n")
    .flatMap((line, index) => (line.includes(wanted) ? [index + 1] : []))
    .slice(0, MAX_NAMED);
  if (near.length === 0) return `${none} Read the file and copy the text exactly.`;
  return `${none} Its first line stands in ${near.length === 1 ? "line" : "the lines"} ${near.join(", ")}, with other white space or other lines after it. Read the file and copy the text exactly.`;
}
