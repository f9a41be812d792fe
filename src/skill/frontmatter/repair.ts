/**
 * Repairs frontmatter that is not YAML, field by field. A readable field stays; the value of an unreadable one becomes
 * the text that its author meant. It handles shapes found in public skills. Lines keep their numbers, so that later
 * positions are right.
 */

/** The lines of a field, up to the next field. */
interface Field {
  key: string;
  /** The text after the colon. */
  rest: string;
  /** The following lines, which belong to its value. */
  below: string[];
  lines: string[];
  /** It is a block with unindented text. */
  unindented: boolean;
}

/**
 * Longer frontmatter, in characters, is not repaired: each field is parsed separately, and broken YAML parses slowly.
 */
export const MOST_REPAIRED = 16_384;

/** A key at the margin, also without a blank after the colon, but not an address. Only plain words begin a field. */
const KEY = /^([A-Za-z_][\w-]*)[:：](?!\/\/)(.*)$/;
/** Unindented text may contain a line such as "Examples: …"; keys are in lower case. */
const KEY_IN_TEXT = /^([a-z_][\w-]*)[:：](?!\/\/)(.*)$/;
const BLOCK = /^([|>])[-+\d]*(?:[ \t]+(.*))?$/;

/**
 * The source with its unreadable fields in quotes; `null`: there is nothing to repair, or the meaning is unclear.
 * @param readable whether YAML reads these lines as a mapping
 */
export function repairFields(source: string, readable: (lines: string) => boolean): string | null {
  if (source.length > MOST_REPAIRED) return null;
  const { head, fields } = fieldsOf(source);
  let repaired = false;
  const parts = fields.map((field) => {
    const lines = field.lines.join("\n");
    if (readable(lines)) return lines;
    const text = textOf(field);
    if (text === null) return lines;
    repaired = true;
    return `${field.key}: ${JSON.stringify(text)}${"\n".repeat(field.lines.length - 1)}`;
  });
  return repaired ? [...head, ...parts].join("\n") : null;
}

function fieldsOf(source: string): { head: string[]; fields: Field[] } {
  const head: string[] = [];
  const fields: Field[] = [];
  const lines = source.split("\n");
  const lastEnd = lines.findLastIndex((line) => line.includes("</example>"));
  /** Descriptions of agents hold dialogues with lines such as "user: …", which are no fields. */
  let inExample = false;
  for (const [at, line] of lines.entries()) {
    const last = fields.at(-1);
    const [, key, rest] = (last?.unindented === true ? KEY_IN_TEXT : KEY).exec(line) ?? [];
    if (key !== undefined && rest !== undefined && !(inExample && at < lastEnd))
      fields.push({ key, rest, below: [], lines: [line], unindented: false });
    else if (last === undefined || line.startsWith("#")) (last?.lines ?? head).push(line);
    else {
      last.below.push(line);
      last.lines.push(line);
      last.unindented ||= /^\S/.test(line) && BLOCK.test(last.rest.trim());
    }
    const [begins, ends] = [line.lastIndexOf("<example>"), line.lastIndexOf("</example>")];
    if (begins !== ends) inExample = begins > ends;
  }
  return { head, fields };
}

/** The intended text; `null`: it is unclear. */
function textOf({ rest, below }: Field): string | null {
  const first = rest.trim();
  const block = BLOCK.exec(first);
  if (block !== null) {
    const [, style, behind = ""] = block;
    const lines = [...(behind === "" ? [] : [behind]), ...below].map((line) => line.trim());
    return style === "|" ? lines.join("\n").trim() : folded(lines);
  }
  const more = below.filter((line) => line.trim() !== "");
  // A list or mapping below the key is not text; nor is an unclosed quotation or list.
  if (first === "")
    return more.length > 0 && more.every((line) => /^[^\s-]/.test(line)) ? folded(more) : null;
  const quote = first[0] ?? "";
  const text = folded([first, ...more.map((line) => line.trim())]);
  if (quote !== '"' && quote !== "'") return text;
  const next = text.indexOf(quote, 1);
  if (next < 0) return null;
  // A quotation that ends before the value does, as the first of several, is part of the text.
  const ends = /\S/.test(text[next - 1] ?? "") && /^[\s,;:.|/)]/.test(text.slice(next + 1));
  const encloses = text.endsWith(quote) && !text.endsWith(`\\${quote}`);
  return encloses && !ends ? unquoted(text, quote) : text;
}

/** Joins lines; an empty line separates paragraphs. */
function folded(lines: readonly string[]): string {
  return lines
    .map((line) => (line === "" ? "\n" : line))
    .join(" ")
    .replace(/(?<! ) *\n */g, "\n")
    .trim();
}

const unquoted = (text: string, quote: string): string =>
  text.slice(1, -1).replaceAll(quote === '"' ? '\\"' : "''", quote);
