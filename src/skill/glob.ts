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
  /** Nothing, or any folders followed by the separator. */
  | { type: "folders" };

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
  return { tokens: pathTokens(Array.from(glob), true), separator: "/" };
}

/** A line of an ignore file, in gitignore's syntax, without its marks for negation and folders. */
export function ignoreGlob(glob: string): Glob {
  const anchored = glob.includes("/");
  const body = pathTokens(Array.from(glob.startsWith("/") ? glob.slice(1) : glob), false);
  return { tokens: anchored ? body : [{ type: "folders" }, ...body], separator: "/" };
}

/** Whether a text matches, in one pass that follows all ways through the glob together. */
export function matches({ tokens, separator }: Glob, text: string): boolean {
  /** Positions in the glob that the pass may be at, marked by step. */
  let open: number[] = [];
  const seen = new Int32Array(tokens.length + 1);
  let step = 0;
  let next: number[] = [];
  const enter = (at: number): void => {
    for (let to = at; seen[to] !== step; to++) {
      seen[to] = step;
      next.push(to);
      const type = tokens[to]?.type;
      if (type !== "star" && type !== "folders") return;
    }
  };
  const advance = (move: () => void): void => {
    step++;
    next = [];
    move();
    open = next;
  };
  /** Positions inside folders, which end only with the folder. */
  const inside = new Set<number>();
  advance(() => enter(0));
  for (const character of text) {
    const stops = character === separator;
    const [places, folders] = [open, Array.from(inside)];
    advance(() => {
      for (const at of places) {
        const token = tokens[at];
        if (token === undefined) continue;
        if (token.type === "folders") {
          inside.add(at);
          if (stops) enter(at);
        } else if (token.type === "star") {
          if (token.deep || !stops) enter(at);
        } else if (fits(token, character, stops)) enter(at + 1);
      }
      if (stops) for (const at of folders) enter(at);
    });
    if (open.length === 0 && inside.size === 0) return false;
  }
  return open.includes(tokens.length);
}

function fits(
  token: Exclude<Token, { type: "star" | "folders" }>,
  character: string,
  stops: boolean,
): boolean {
  if (token.type === "text") return token.text === character;
  if (stops || token.type === "any") return !stops;
  return token.ranges.some(([first, last]) => first <= character && character <= last) !== token.negated;
}

function tokensOf(glob: string): Token[] {
  return glob.split(/(\*\*\/?|\*|\?)/).flatMap((piece): Token[] => {
    if (piece === "?") return [{ type: "any" }];
    if (piece.startsWith("*")) return [{ type: "star", deep: piece !== "*" }];
    return [...piece].map((text) => ({ type: "text", text }));
  });
}

/**
 * `**` and the slash behind it are folders where a part of the path begins.
 * @param deep whether every other `**` passes the separator too; else only one that is the last part, and other runs of
 * stars are one
 */
function pathTokens(glob: readonly string[], deep: boolean): Token[] {
  const tokens: Token[] = [];
  const partBegins = (at: number): boolean => at === 0 || glob[at - 1] === "/";
  for (let at = 0; at < glob.length; at++) {
    const character = glob[at] ?? "";
    if (character === "*") {
      const begins = partBegins(at);
      if (begins && glob[at + 1] === "*" && glob[at + 2] === "/") {
        tokens.push({ type: "folders" });
        at += 2;
        continue;
      }
      const double = glob[at + 1] === "*";
      const last = at > 0 && begins && at + 2 >= glob.length;
      while (glob[at + 1] === "*") at++;
      tokens.push({ type: "star", deep: double && (deep || last) });
    } else if (character === "?") tokens.push({ type: "any" });
    else if (character === "[") {
      const set = setAt(glob, at);
      tokens.push(set?.token ?? { type: "text", text: "[" });
      at = set?.last ?? at;
    } else if (character === "\\" && at + 1 < glob.length)
      tokens.push({ type: "text", text: glob[++at] ?? "" });
    else tokens.push({ type: "text", text: character });
  }
  return tokens;
}

/** The bracket set that begins here; `null`: there is none. */
function setAt(glob: readonly string[], from: number): { token: Token; last: number } | null {
  const negated = glob[from + 1] === "!";
  const first = from + (negated ? 2 : 1);
  // The first member cannot close the set.
  const last = glob.indexOf("]", first);
  const members = glob.slice(first, last);
  if (last === -1 || members.length === 0 || members.includes("/")) return null;
  const ranges: [string, string][] = [];
  for (let at = 0; at < members.length; at++) {
    const low = members[at] ?? "";
    const spans = members[at + 1] === "-" && at + 2 < members.length;
    ranges.push([low, spans ? (members[at + 2] ?? "") : low]);
    if (spans) at += 2;
  }
  return { token: { type: "set", ranges, negated }, last };
}
