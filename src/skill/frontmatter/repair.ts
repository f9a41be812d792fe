/**
 * Frontmatter that is no YAML, field by field: a field that can be read stays as it is; of one
 * that cannot, the value is taken as the text that its author meant. Shapes as found in public skills. Lines stay where
 * they are, so that places in what follows are right.
 */

/** A field from its first line to the next field's. */
interface Field {
  key: string;
  /** What stands behind the colon. */
  rest: string;
  /** The lines below, which belong to its value. */
  below: string[];
  lines: string[];
  /** It is a block whose text is not indented. */
  unindented: boolean;
}

/** Longer frontmatter is not repaired, in characters: each field is parsed by itself, and broken YAML slowly. */
export const MOST_REPAIRED = 16_384;

/** A key at the margin; without a blank behind the colon too, but no address. Others than plain words begin no field. */
const KEY = /^([A-Za-z_][\w-]*)[:：](?!\/\/)(.*)$/;
/** Text without indentation may have a line such as "Examples: …"; keys are written small. */
const KEY_IN_TEXT = /^([a-z_][\w-]*)[:：](?!\/\/)(.*)$/;
const BLOCK = /^([|>])[-+\d]*(?:[ \t]+(.*))?$/;

/**
 * The source with its unreadable fields in quotes; `null`: there is nothing to do, or no way to tell what is meant.
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
  for (const line of source.split("\n")) {
    const last = fields.at(-1);
    const [, key, rest] = (last?.unindented === true ? KEY_IN_TEXT : KEY).exec(line) ?? [];
    if (key !== undefined && rest !== undefined)
      fields.push({ key, rest, below: [], lines: [line], unindented: false });
    else if (last === undefined || line.startsWith("#")) (last?.lines ?? head).push(line);
    else {
      last.below.push(line);
      last.lines.push(line);
      last.unindented ||= /^\S/.test(line) && BLOCK.test(last.rest.trim());
    }
  }
  return { head, fields };
}

/** The text that is meant; `null`: that is not to be told. */
function textOf({ rest, below }: Field): string | null {
  const first = rest.trim();
  const block = BLOCK.exec(first);
  if (block !== null) {
    const [, style, behind = ""] = block;
    const lines = [...(behind === "" ? [] : [behind]), ...below].map((line) => line.trim());
    return style === "|" ? lines.join("\n").trim() : folded(lines);
  }
  const more = below.filter((line) => line.trim() !== "");
  // A list or mapping below the key is no text; nor is a quotation or a list that never ends.
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

/** Lines as one; an empty one parts paragraphs. */
function folded(lines: readonly string[]): string {
  return lines
    .map((line) => (line === "" ? "\n" : line))
    .join(" ")
    .replace(/ *\n */g, "\n")
    .trim();
}

const unquoted = (text: string, quote: string): string =>
  text.slice(1, -1).replaceAll(quote === '"' ? '\\"' : "''", quote);
