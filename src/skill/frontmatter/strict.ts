/** Reads the frontmatter as the reference validator of Agent Skills does. */
import { Composer, type CST, type Document, isCollection, isMap, isPair, isScalar, Parser } from "yaml";
import { splitStrictly, withLineFeeds } from "./fences.ts";

export type StrictFault =
  | "frontmatter_missing"
  | "frontmatter_unclosed"
  | "frontmatter_yaml"
  | "frontmatter_not_mapping";

/** Top-level fields in the order of the file: a text, untrimmed, or `null` for a list or mapping. */
export type StrictFields = ReadonlyMap<string, string | null>;

type StrictReading =
  | { fields: StrictFields }
  /** `why`: explains it to people. */
  | { fault: StrictFault; why: string };

/** Characters that a YAML 1.2 reference validator forbids in a stream. */
const UNPRINTABLE = /[^\t\n\r\x20-\x7E\x85\xA0-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u;
/** Plain values with a special meaning in older YAML; the reference reads them as nothing. */
const READS_AS_BLANK = new Set(["=", "<<"]);

/** Reads a whole SKILL.md; stops at the first fault. */
export function readStrictly(text: string): StrictReading {
  const split = splitStrictly(withLineFeeds(text));
  if (split === "frontmatter_missing") return { fault: split, why: "the file does not begin with ---" };
  if (split === "frontmatter_unclosed") return { fault: split, why: "there is no second ---" };
  const { frontmatter } = split;
  const yaml = (why: string): StrictReading => ({ fault: "frontmatter_yaml", why });
  const unprintable = UNPRINTABLE.exec(frontmatter)?.[0];
  if (unprintable !== undefined) return yaml(`it holds the control character ${JSON.stringify(unprintable)}`);
  const reading = composed(frontmatter);
  if (reading === null) return yaml("values are nested too deeply");
  const { tokens, document, second } = reading;
  const problem = document?.errors[0] ?? document?.warnings[0];
  if (problem !== undefined) return yaml(problem.message);
  const twice = repeatedKey(document?.contents);
  if (twice !== null) return yaml(`the key ${twice} appears twice`);
  if (second !== undefined) return yaml("it holds several documents");
  for (const token of tokens) {
    const refused = refusedToken(token) ?? unevenMapping(token);
    if (refused !== null) return yaml(refused);
  }
  const root = document?.contents;
  if (!isMap(root)) return { fault: "frontmatter_not_mapping", why: "it is not a mapping of fields" };
  const fields = new Map<string, string | null>();
  for (const { key, value } of root.items) {
    fields.set(isScalar(key) ? String(key.value) : String(key), textOf(value));
  }
  return { fields };
}

interface Composed {
  tokens: CST.Token[];
  document: Document | undefined;
  second: Document | undefined;
}

/** Like `parseDocument`, but keeps the tokens, to report refused ones; `null`: it recurses too deeply. */
function composed(frontmatter: string): Composed | null {
  // `yaml` compares each key with every other; `repeatedKey` takes linear time.
  const options = { schema: "failsafe", uniqueKeys: false, prettyErrors: false, logLevel: "silent" } as const;
  // Each mistake creates an Error, and there may be one per character; recording their stacks would take twice as long
  // as the rest.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    const tokens = Array.from(new Parser().parse(frontmatter));
    const [document, second] = new Composer(options).compose(tokens, true, frontmatter.length);
    return { tokens, document, second };
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** A key that occurs twice in any mapping; `null`: there is none. */
function repeatedKey(root: unknown): string | null {
  const open = [root];
  while (open.length > 0) {
    const node = open.pop();
    if (!isCollection(node)) continue;
    const seen = new Set<unknown>();
    for (const item of node.items) {
      if (!isPair(item)) {
        open.push(item);
        continue;
      }
      open.push(item.key, item.value);
      if (!isScalar(item.key)) continue;
      if (seen.has(item.key.value)) return String(item.key.value);
      seen.add(item.key.value);
    }
  }
  return null;
}

function textOf(node: unknown): string | null {
  if (!isScalar(node)) return node === null ? "" : null;
  const text = typeof node.value === "string" ? node.value : (node.source ?? "");
  return node.type === "PLAIN" && READS_AS_BLANK.has(text) ? "" : text;
}

/** Step 6: valid YAML outside the subset that the reference accepts; `null`: nothing. */
function refusedToken(root: CST.Token): string | null {
  const open: (CST.Token | CST.SourceToken)[] = [root];
  for (let token = open.pop(); token !== undefined; token = open.pop()) {
    switch (token.type) {
      case "tag":
        return `tags such as ${token.source} are not accepted`;
      case "anchor":
      case "alias":
        return `anchors and aliases such as ${token.source} are not accepted`;
      case "flow-collection":
        return "lists in brackets and mappings in braces are not accepted; write one item or key to a line";
      case "scalar":
      case "space":
        if (token.source.includes("\t")) return "there is a tab outside of quotes";
    }
    open.push(...parts(token));
  }
  return null;
}

function parts(token: CST.Token | CST.SourceToken): (CST.Token | CST.SourceToken)[] {
  const all: (CST.Token | CST.SourceToken)[] = [];
  if ("start" in token && Array.isArray(token.start)) all.push(...token.start);
  if ("props" in token) all.push(...token.props);
  if ("end" in token) all.push(...(token.end ?? []));
  if ("value" in token && token.value !== undefined) all.push(token.value);
  if ("items" in token) {
    for (const { start, key, sep, value } of token.items) {
      all.push(...start, ...(sep ?? []));
      if (key !== null && key !== undefined) all.push(key);
      if (value !== undefined) all.push(value);
    }
  }
  return all;
}

/** Step 7: sibling mappings that do not begin in one column; `null`: there are none. */
function unevenMapping(root: CST.Token): string | null {
  const open: CST.Token[] = root.type === "document" && root.value !== undefined ? [root.value] : [];
  for (let token = open.pop(); token !== undefined; token = open.pop()) {
    if (token.type !== "block-map" && token.type !== "block-seq") continue;
    const values = token.items.flatMap(({ value }) => value ?? []);
    open.push(...values);
    if (token.type !== "block-map") continue;
    const columns = new Set(values.flatMap((value) => (value.type === "block-map" ? [value.indent] : [])));
    if (columns.size > 1) return "mappings of one level begin in different columns";
  }
  return null;
}
