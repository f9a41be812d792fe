/**
 * An upper bound on the steps of a backtracking engine. Such an engine gets a pattern from outside only if the bound is
 * small. Packages that look for slow expressions do not know the text's length: safe-regex2 accepts `^(a|a)*$`, and
 * redos-detector refuses `a+b`, also for short texts. Pure.
 */
import { type CharSet, union } from "./char-set.ts";
import { type Node, parsePattern, Refusal } from "./parse.ts";

/**
 * The most steps of a search in a text of this many characters. Infinite: too many to count, or an unsupported
 * expression, e.g. with look-around.
 */
export function stepsToMatch(source: string, length: number): number {
  // Only in ECMAScript are these two a class without members and a class of all characters.
  if (/\[\^?\]/.test(source)) return Number.POSITIVE_INFINITY;
  try {
    const tree = parsePattern(source);
    const starts = isAnchored(tree) ? 1 : length + 1;
    return starts * (search(tree, length, []).steps + 1);
  } catch (error) {
    if (error instanceof Refusal) return Number.POSITIVE_INFINITY;
    throw error;
  }
}

function isAnchored(node: Node): boolean {
  if (node.kind === "assert") return node.what === "line_start";
  return node.kind === "sequence" && node.parts[0] !== undefined && isAnchored(node.parts[0]);
}

/** From one position: in how many ways a node matches, and the steps to try all of them. Both are upper bounds. */
interface Search {
  ways: number;
  steps: number;
}

/** @param follow what may follow the node; empty if the node ends the expression, or the text must end */
function search(node: Node, length: number, follow: CharSet): Search {
  switch (node.kind) {
    case "unit":
    case "assert":
      return { ways: 1, steps: 1 };
    case "sequence": {
      let after = follow;
      // Later parts are tried again for each way of the earlier parts.
      let whole: Search = { ways: 1, steps: 0 };
      for (const part of node.parts.toReversed()) {
        const one = search(part, length, after);
        whole = { ways: one.ways * whole.ways, steps: one.steps + one.ways * whole.steps };
        after = isSkipped(part) ? union([firstOf(part), after]) : firstOf(part);
      }
      return whole;
    }
    case "choice": {
      const each = node.options.map((option) => search(option, length, follow));
      const ways = each.map((one) => one.ways);
      const sum = ways.reduce((total, one) => total + one, 0);
      return {
        ways: areDistinct(node.options) ? Math.max(...ways) : sum,
        steps: each.reduce((total, one) => total + one.steps, 0),
      };
    }
    case "repeat": {
      const first = firstOf(node.part);
      const most = Math.max(node.min, Math.min(node.max, length));
      const once = search(node.part, length, most > 1 ? union([first, follow]) : follow);
      // The next character decides whether the repetition continues, but it is checked at every end anyway.
      const ends = overlap(first, follow) ? most - node.min + 1 : 1;
      const all = once.ways === 1 ? 1 : once.ways ** most;
      return { ways: ends * all, steps: 2 * (most + 1) * once.steps * all };
    }
  }
}

/** Whether the first character decides which option matches. */
function areDistinct(options: readonly Node[]): boolean {
  const firsts = options.map(firstOf);
  return (
    !options.some(isSkipped) &&
    firsts.every((set, n) => firsts.slice(n + 1).every((other) => !overlap(set, other)))
  );
}

/** The characters with which a match of the node may begin. */
function firstOf(node: Node): CharSet {
  switch (node.kind) {
    case "unit":
      return node.set;
    case "assert":
      return [];
    case "choice":
      return union(node.options.map(firstOf));
    case "repeat":
      return firstOf(node.part);
    case "sequence": {
      const until = node.parts.findIndex((part) => !isSkipped(part));
      return union((until === -1 ? node.parts : node.parts.slice(0, until + 1)).map(firstOf));
    }
  }
}

/** Whether it may match nothing, with more after it. */
function isSkipped(node: Node): boolean {
  switch (node.kind) {
    case "unit":
      return false;
    case "assert":
      return node.what !== "line_end" && node.what !== "text_end";
    case "choice":
      return node.options.some(isSkipped);
    case "repeat":
      return node.min === 0 || isSkipped(node.part);
    case "sequence":
      return node.parts.every(isSkipped);
  }
}

/**
 * Whether both sets may contain the same character. The parser's sets are those of lower-cased text. They equal the sets
 * of the platform's engine only if one of the two has nothing but ASCII without letters. Sets are ranges, `[first, last,
 * first, last, …]`.
 */
function overlap(a: CharSet, b: CharSet): boolean {
  if (!isExact(a) && !isExact(b)) return true;
  for (let i = 0; i < a.length; i += 2) {
    for (let j = 0; j < b.length; j += 2) {
      if ((a[i] ?? 0) <= (b[j + 1] ?? 0) && (b[j] ?? 0) <= (a[i + 1] ?? 0)) return true;
    }
  }
  return false;
}

function isExact(set: CharSet): boolean {
  return set.every((last, i) => {
    const first = set[i - 1] ?? 0;
    return (
      i % 2 === 0 || (last < 0x80 && !(first <= 0x5a && last >= 0x41) && !(first <= 0x7a && last >= 0x61))
    );
  });
}
