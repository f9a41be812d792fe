/**
 * How long a backtracking engine may look for a match: an upper bound of its steps. Patterns from outside are
 * only given to one where that is little. Pure.
 */
import { type CharSet, union } from "./char-set.ts";
import { type Node, parsePattern, Refusal } from "./parse.ts";

/**
 * Steps of looking for a match in a text of this many characters, at most. Infinite: too many to tell, or an expression that is not
 * understood, e.g. one with look-around.
 */
export function stepsToMatch(source: string, length: number): number {
  // The two are a class without members, and of all characters, in ECMAScript alone.
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

/** From one place on: in how many ways a node matches, and the steps of trying all of them. Both at most. */
interface Search {
  ways: number;
  steps: number;
}

/** @param follow what may stand after the node; nothing where it ends the expression, or the text has to end */
function search(node: Node, length: number, follow: CharSet): Search {
  switch (node.kind) {
    case "unit":
    case "assert":
      return { ways: 1, steps: 1 };
    case "sequence": {
      let after = follow;
      // What comes later is tried anew for each way of what comes before.
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
      // What comes next tells whether it goes on. It is asked at every end all the same.
      const ends = overlap(first, follow) ? most - node.min + 1 : 1;
      const all = once.ways === 1 ? 1 : once.ways ** most;
      return { ways: ends * all, steps: 2 * (most + 1) * once.steps * all };
    }
  }
}

/** Whether the first character tells which one it is. */
function areDistinct(options: readonly Node[]): boolean {
  const firsts = options.map(firstOf);
  return (
    !options.some(isSkipped) &&
    firsts.every((set, n) => firsts.slice(n + 1).every((other) => !overlap(set, other)))
  );
}

/** What a match of the node may begin with. */
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

/** Whether it may match nothing, with more behind it. */
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
 * Whether a character may be in both. The parser's sets are those of lower-cased text: only where one of them has none but
 * ASCII without letters are they those of the platform's engine too. Sets are ranges, `[first, last, first, last, …]`.
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
