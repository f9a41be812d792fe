/**
 * Splits JavaScript into tokens, as far as needed to know where code ends and text begins (ECMA-262 §12). Pure. The
 * token before a slash decides whether the slash divides or begins a regular expression; this is right in all but
 * contrived code.
 */

export interface Token {
  /** `word`: names and keywords; `mark`: one sign, or `++`, `--`, `=>`. */
  kind: "word" | "number" | "string" | "template" | "regex" | "mark";
  text: string;
  /** Offsets into the source, in UTF-16 units. */
  start: number;
  end: number;
}

const WORD =
  /(?:[\p{ID_Start}$_#]|\\u)(?:[\p{ID_Continue}$\u200c\u200d]|\\u[0-9a-fA-F]{4}|\\u\{[0-9a-fA-F]+\})*/uy;
const NUMBER = /(?:0[xXoObB][\da-fA-F_]+n?|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][-+]?\d+)?n?)/y;
const STRING = /"(?:[^"\\\r\n]|\\[\s\S])*"|'(?:[^'\\\r\n]|\\[\s\S])*'/y;
const REGEX = /\/(?:[^/\\[\r\n]|\\.|\[(?:[^\]\\\r\n]|\\.)*\])+\/[a-z]*/y;
/** Text of a template up to its end or the next `${`. */
const TEMPLATE = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*(?:`|\$\{)/y;
/** A comment without an end takes the rest. */
const SKIPPED = /(?:\s|\/\/[^\n]*|\/\*(?:[\s\S]*?\*\/|[\s\S]*))+/y;

/** Words after which a value is expected. */
const EXPECTANT = new Set(
  "return typeof case in of do else void delete throw new instanceof yield await".split(" "),
);
/** Words whose parentheses precede a statement. */
const CONTROL = new Set(["if", "while", "for", "with"]);

/** The most characters to read, per character of the source and in any source, in search of ends that texts do not have. */
const IN_VAIN = { each: 20, any: 1_000_000 };

/**
 * The tokens without blanks and comments. Unreadable text is skipped, one character at a time. The time grows with the
 * length of the source, even if it is not JavaScript.
 */
export function* tokens(source: string): Generator<Token> {
  /** The open brackets, and whether a statement or a value follows their end. After a value a slash divides. */
  const open: { mark: string; divides: boolean }[] = [];
  let before: Token | undefined;
  let divides = false;
  let at = 0;
  const match = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    return pattern.exec(source)?.[0] ?? null;
  };
  let left = IN_VAIN.any + IN_VAIN.each * source.length;
  /** The same for what may lack its end. */
  const closed = (pattern: RegExp): string | null => {
    const found = left < 0 ? null : match(pattern);
    if (found === null) left -= source.length - at;
    return found;
  };
  const read = (): [Token["kind"], string] => {
    const first = source[at] ?? "";
    if (first === "`") return ["template", templatePart()];
    if (first === "}" && open.at(-1)?.mark === "`") return ["template", templatePart()];
    if (first === "/" && !divides) {
      const regex = closed(REGEX);
      if (regex !== null) return ["regex", regex];
    }
    const text = first === '"' || first === "'" ? closed(STRING) : null;
    if (text !== null) return ["string", text];
    const word = match(WORD);
    if (word !== null) return ["word", word];
    const number = match(NUMBER);
    if (number !== null) return ["number", number];
    const two = source.slice(at, at + 2);
    return ["mark", two === "++" || two === "--" || two === "=>" ? two : first];
  };
  const templatePart = (): string => {
    TEMPLATE.lastIndex = at + 1;
    const rest = TEMPLATE.exec(source)?.[0];
    return rest === undefined ? source.slice(at) : source.slice(at, at + 1) + rest;
  };
  for (;;) {
    at += match(SKIPPED)?.length ?? 0;
    if (at >= source.length) return;
    const [kind, text] = read();
    const token = { kind, text, start: at, end: at + text.length };
    yield token;
    divides = follow(token, before, open, divides);
    before = token;
    at = token.end;
  }
}

/** A word with its neighbours: the token before it, the word, the four tokens after it. */
export type Near = readonly (Token | undefined)[];

/** The words. There is no list of all tokens, since it would take a hundred times the memory of the source. */
export function* words(source: string): Generator<Near> {
  let near: Near = [undefined];
  for (const token of withEnd(source)) {
    near = [...near, token];
    if (near.length < 6) continue;
    if (near[1]?.kind === "word") yield near;
    near = near.slice(1);
  }
}

function* withEnd(source: string): Generator<Token | undefined> {
  yield* tokens(source);
  for (let behind = 0; behind < 4; behind++) yield undefined;
}

/** Updates `open`; returns whether a slash after this token divides. */
function follow(
  { kind, text }: Token,
  before: Token | undefined,
  open: { mark: string; divides: boolean }[],
  divided: boolean,
): boolean {
  if (kind === "template") {
    if (text.startsWith("}")) open.pop();
    if (text.endsWith("${")) open.push({ mark: "`", divides: true });
    return !text.endsWith("${");
  }
  if (kind === "word") return before?.text === "." || !EXPECTANT.has(text);
  if (kind !== "mark") return true;
  switch (text) {
    case "(":
      open.push({ mark: text, divides: !(before?.kind === "word" && CONTROL.has(before.text)) });
      return false;
    case "[":
      open.push({ mark: text, divides: true });
      return false;
    case "{":
      open.push({ mark: text, divides: opensObject(before, divided) });
      return false;
    case ")":
    case "]":
    case "}":
      return open.pop()?.divides ?? true;
    default:
      return text === "++" || text === "--";
  }
}

/** Whether a brace begins a value: true where a value is expected and not a statement. */
function opensObject(before: Token | undefined, divided: boolean): boolean {
  if (before === undefined || divided) return false;
  if (before.kind === "word") return before.text !== "do" && before.text !== "else";
  return before.kind === "mark" && ![";", "{", "}", ")", "=>"].includes(before.text);
}
