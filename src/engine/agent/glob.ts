/** Globs over names and paths: `*` stops at `/`, `**` does not, `?` is one character. Linear-time. Pure. */

/** Whether a path matches a glob (agent-runtime.md §11.2). */
export function globMatches(glob: string, path: string): boolean {
  return matches(tokensOf(glob), path, "/");
}

/** Whether a name matches a glob in which `*` stands for any characters. */
export function nameMatches(glob: string, name: string): boolean {
  return matches(tokensOf(glob), name, null);
}

type Token = { type: "star"; deep: boolean } | { type: "any" } | { type: "text"; text: string };

function tokensOf(glob: string): Token[] {
  return glob.split(/(\*{1,2}\/?|\?)/).flatMap((piece): Token[] => {
    if (piece === "") return [];
    if (piece === "?") return [{ type: "any" }];
    if (piece === "**/") return [{ type: "star", deep: true }];
    if (piece === "*/")
      return [
        { type: "star", deep: false },
        { type: "text", text: "/" },
      ];
    if (piece === "*" || piece === "**") return [{ type: "star", deep: piece === "**" }];
    return [...piece].map((text) => ({ type: "text", text }));
  });
}

/** Walks all ways through the tokens at once, so that no glob makes it go back. */
function matches(tokens: readonly Token[], text: string, separator: string | null): boolean {
  let open = closure(tokens, new Set([0]));
  for (const character of text) {
    const next = new Set<number>();
    for (const at of open) {
      const token = tokens[at];
      if (token === undefined) continue;
      const stops = character === separator;
      if (token.type === "star" && (token.deep || !stops)) next.add(at);
      if (token.type === "any" && !stops) next.add(at + 1);
      if (token.type === "text" && token.text === character) next.add(at + 1);
    }
    open = closure(tokens, next);
    if (open.size === 0) return false;
  }
  return open.has(tokens.length);
}

/** A star may stand for nothing. */
function closure(tokens: readonly Token[], open: Set<number>): Set<number> {
  for (const at of open) if (tokens[at]?.type === "star") open.add(at + 1);
  return open;
}
