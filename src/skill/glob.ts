/**
 * The one matcher of globs from any source: over names, paths, model ids, mocks and files to leave out. No glob becomes
 * a regular expression: a match costs at most the product of the two lengths. The packages picomatch and zeptomatch, and
 * the platform's `URLPattern`, make expressions that backtrack: `*a*a*a*a*a*a*a*ab` takes them seconds for 60 letters.
 * Pure.
 */

/** The permitted values of one character, or any number of them. */
type Token =
  | { type: "text"; text: string }
  /** One character except the separator. */
  | { type: "any" }
  /** One of these, or none of these; never the separator. */
  | { type: "set"; ranges: readonly (readonly [first: string, last: string])[]; negated: boolean }
  /** Any number of characters; without `deep` none of them is the separator. */
  | { type: "star"; deep: boolean }
  /** The next two tokens, or nothing in their place. */
  | { type: "optional" };

/** `**` with its slash: nothing, or any folders. */
const FOLDERS: readonly Token[] = [
  { type: "optional" },
  { type: "star", deep: true },
  { type: "text", text: "/" },
];

/** A parsed glob, to match with many texts. */
export interface Glob {
  tokens: readonly Token[];
  /** The character that `*` and `?` do not match; `null`: none. */
  separator: string | null;
}

/** Whether a path matches a glob: `*` stops at `/`, `**` does not, `?` is one character. */
export const globMatches = (glob: string, path: string): boolean => globMatchesAny(glob, [path]);

/** Whether any of these paths matches the glob. */
export function globMatchesAny(glob: string, paths: readonly string[]): boolean {
  const parsed: Glob = { tokens: tokensOf(glob), separator: "/" };
  return paths.some((path) => matches(parsed, path));
}

/** Whether a name matches a glob in which `*` matches any characters. Names are also long texts, such as a file's content. */
export const nameMatches = (glob: string, name: string): boolean =>
  /\?|\*\*/.test(glob) ? matches({ tokens: tokensOf(glob), separator: null }, name) : starMatches(glob, name);

/**
 * Whether a text matches a glob whose only sign is `*`, for any characters; letter case counts. For long texts: it takes
 * one pass over the text, whatever the glob.
 */
export function starMatches(glob: string, text: string): boolean {
  const [first = "", ...rest] = glob.split("*");
  const last = rest.pop();
  if (last === undefined) return text === glob;
  const end = text.length - last.length;
  if (end < first.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  // The leftmost place of each piece leaves the most room for later pieces.
  for (const piece of rest) {
    const found = text.indexOf(piece, at);
    if (found === -1 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return true;
}

/**
 * Whether a model's id matches: `*`, `x*`, `*x`, `*x*` or `a*b`, ignoring letter case. A glob without star must be
 * equal; any other combination of stars is compared literally.
 */
export function modelMatches(glob: string, id: string): boolean {
  const [pattern, text] = [glob.toLowerCase(), id.toLowerCase()];
  const stars = pattern.split("*").length - 1;
  const known = stars === 1 || (stars === 2 && pattern.startsWith("*") && pattern.endsWith("*"));
  return known ? starMatches(pattern, text) : pattern === text;
}

/** A glob over paths as shells and editors read it: `**` with the slash after it means folders, `[a-z]` one character. */
export function fileGlob(glob: string): Glob {
  return { tokens: pathTokens(glob, (stars) => stars !== "*"), separator: "/" };
}

/** A line of an ignore file, in gitignore's syntax, without its marks for negation and folders. */
export function ignoreGlob(glob: string): Glob {
  const path = glob.startsWith("/") ? glob.slice(1) : glob;
  // Only one that is the last part passes the separator.
  const tokens = pathTokens(path, (_, at) => path.endsWith("/**") && at === path.length - 2);
  return { tokens: glob.includes("/") ? tokens : [...FOLDERS, ...tokens], separator: "/" };
}

/** Whether a text matches, in one pass that follows all ways through the glob together. */
export function matches({ tokens, separator }: Glob, text: string): boolean {
  /** By place in the glob: the last step that came to it. */
  const steps = new Int32Array(tokens.length + 1);
  let step = 1;
  let open: number[] = [];
  const enter = (at: number): void => {
    if (steps[at] === step) return;
    steps[at] = step;
    open.push(at);
  };
  /** Enters the places that the open ones, and these themselves, come to without a character. */
  const follow = (): void => {
    for (const at of open) {
      const type = tokens[at]?.type;
      if (type === "star" || type === "optional") enter(at + 1);
      if (type === "optional") enter(at + 3);
    }
  };
  enter(0);
  follow();
  for (const character of text) {
    const stops = character === separator;
    const from = open;
    open = [];
    step++;
    for (const at of from) {
      const token = tokens[at];
      if (token === undefined) continue;
      if (token.type === "star" && (token.deep || !stops)) enter(at);
      else if (fits(token, character, stops)) enter(at + 1);
    }
    if (open.length === 0) return false;
    follow();
  }
  return steps[tokens.length] === step;
}

/** Whether a token permits this one character. */
function fits(token: Token, character: string, stops: boolean): boolean {
  switch (token.type) {
    case "text":
      return token.text === character;
    case "any":
      return !stops;
    case "set":
      return !stops && isIn(token, character);
    default:
      return false;
  }
}

const isIn = ({ ranges, negated }: Token & { type: "set" }, character: string): boolean =>
  ranges.some(([first, last]) => first <= character && character <= last) !== negated;

function tokensOf(glob: string): Token[] {
  return glob.split(/(\*\*\/?|\*|\?)/).flatMap((piece): Token[] => {
    if (piece === "?") return [{ type: "any" }];
    if (piece.startsWith("*")) return [{ type: "star", deep: piece !== "*" }];
    return [...piece].map((text) => ({ type: "text", text }));
  });
}

/**
 * Folders where a part of the path begins, stars, a set, a character after a backslash, or any other one. A set has at
 * most 100 characters, since many brackets would each look for an end far away.
 */
const PIECES = /(?<![^/])\*\*\/|\*+|\[(?!!\])(!?)([^\]/]{1,100})\]|\\(.)|./gsu;

/** @param isDeep whether a run of stars, and where it begins, passes the separator too */
function pathTokens(glob: string, isDeep: (stars: string, at: number) => boolean): Token[] {
  return Array.from(glob.matchAll(PIECES)).flatMap((found): readonly Token[] => {
    const [piece, negation, members, escaped] = found;
    if (members !== undefined) return [{ type: "set", ranges: rangesOf(members), negated: negation === "!" }];
    if (escaped !== undefined) return [{ type: "text", text: escaped }];
    if (piece === "**/") return FOLDERS;
    if (piece === "?") return [{ type: "any" }];
    if (piece.startsWith("*")) return [{ type: "star", deep: isDeep(piece, found.index) }];
    return [{ type: "text", text: piece }];
  });
}

/** The ranges of a bracket set's members. */
const rangesOf = (members: string): [first: string, last: string][] =>
  Array.from(members.matchAll(/(.)-(.)|./gsu), ([one, first = one, last = one]) => [first, last]);
