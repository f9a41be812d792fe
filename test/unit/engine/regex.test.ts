/** Expressions from outside: what is taken, what it matches (as the platform's own engine says), and what it may cost. */

import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { describe, expect, it, test } from "vitest";
import type { Budget } from "../../../src/engine/regex/automaton.ts";
import { stepsToMatch } from "../../../src/engine/regex/cost.ts";
import { compilePattern } from "../../../src/engine/regex/pattern.ts";
import { fc } from "../../support/property.ts";

const PATTERN = new URL("../../../src/engine/regex/pattern.ts", import.meta.url).href;

/** Number of matches, or why the expression is refused. */
function matches(source: string, text: string, budget: Budget = { left: 1e6 }): number | string | null {
  const compiled = compilePattern(source);
  if (!compiled.ok) return compiled.reason;
  const lower = text.toLowerCase();
  return compiled.pattern.count(lower, budget);
}

describe("expressions that are refused, with the reason", () => {
  it.each<[string, RegExp]>([
    ["(?=a)b", /look-around/],
    ["(?!a)b", /look-around/],
    ["(?<=a)b", /look-around/],
    ["(?<!a)b", /look-around/],
    ["(a)\\1", /back-references/],
    ["(?P<n>a)(?P=n)", /back-references/],
    ["(?<n>a)\\k<n>", /back-references/],
    ["(?>a)", /kind of group/],
    ["a++", /possessive/],
    ["a**", /repeated/],
    ["*deploy", /nothing to repeat/],
    ["a|{2}", /nothing to repeat/],
    ["\\b+", /position/],
    ["(a", /without its \)/],
    ["a)", /without its \(/],
    ["[a", /without its \]/],
    ["[z-a]", /range's end/],
    ["[\\d-z]", /begins with a class/],
    ["[a-\\d]", /ends with a class/],
    ["[[:alpha:]]", /POSIX/],
    ["[😀]", /beyond U\+FFFF/],
    ["\\pL", /Unicode classes/],
    ["\\q", /no escape \\q/],
    ["a\\", /ends with a backslash/],
    ["(?x)a", /flags "x"/],
    ["a{2,1}", /end is before/],
    ["a{1001}", /over 1000/],
    ["a{99999999999}", /over 1000/],
    ["(a{100}){100}", /too large/],
    ["((){1000}){1000}", /too large/],
    ["a".repeat(257), /257 characters/],
  ])("%s", (source, reason) => {
    expect(matches(source, "")).toMatch(reason);
  });
});

describe("syntax that engines write differently", () => {
  it.each<[string, string, number]>([
    ["(?i)SLACK", "slack Slack", 2],
    ["(?P<verb>get|set)_", "get_a set_b", 2],
    ["(?:get|set)_", "get_a", 1],
    ["a{,2}b", "aaab", 1],
    ["a{", "a{ a", 1],
    ["a{x}", "a{x}", 1],
    ["[]a]", "]a", 2],
    ["[^]a]", "]ab", 1],
    ["[\\b]", "\b", 1],
    ["\\Aopen", "open\nopen", 1],
    ["open\\Z", "open\nopen", 1],
    ["(?s)a.b", "a\nb", 1],
    ["a.b", "a\nb", 0],
    ["😀+", "😀😀", 1],
    ["\\x41\\u0042", "ab", 1],
    ["\\ud83d\\ude00", "😀", 1],
    ["^.{999}$", `${"😀".repeat(998)}a`, 1],
    ["^.{0,998}$", "😀".repeat(999), 0],
    ["(a*)*b", "aab", 1],
  ])("%s in %j", (source, text, count) => {
    expect(matches(source, text)).toBe(count);
  });
});

test("without the characters beyond U+FFFF of a class, letter pairs beyond ASCII fold as the platform's do", () => {
  expect(matches("[À-Ý]", "ÀàÝýz")).toBe("ÀàÝýz".match(/[À-Ý]/gi)?.length);
});

/** An expression, and whether it can match nothing: a repetition of such a one means different things to engines. */
interface Sample {
  source: string;
  nullable: boolean;
}
const { expression } = fc.letrec<{ expression: Sample; atom: Sample }>((tie) => {
  const unit = fc
    .constantFrom(
      ..."ab_ 1é",
      ".",
      "A",
      "\\w",
      "\\W",
      "\\d",
      "\\D",
      "\\s",
      "\\S",
      "\\n",
      "\\.",
      "[ab]",
      "[^a_]",
      "[A-Z]",
      "[^\\d\\s]",
      "[\\w-]",
      "[^\\W1]",
      "(?:ab)",
      "(?:b_a|aa)",
    )
    .map((source) => ({ source, nullable: false }));
  const position = fc.constantFrom("^", "$", "\\b", "\\B").map((source) => ({ source, nullable: true }));
  const group = fc
    .tuple(fc.constantFrom("(", "(?:", "(?<n>"), tie("expression"))
    .map(([open, { source, nullable }]) => ({ source: `${open}${source})`, nullable }));
  const repeated = fc
    .tuple(
      tie("atom"),
      fc.constantFrom("*", "+", "?", "{2}", "{1,}", "{0,2}", "{2,3}"),
      fc.constantFrom("", "?"),
    )
    .filter(([part]) => !part.nullable && !/[*+?}]$/.test(part.source))
    .map(([part, count, lazy]) => ({
      source: `${part.source}${count}${lazy}`,
      nullable: /^(?:\*|\?|\{0)/.test(count),
    }));
  const atom = fc.oneof(
    { maxDepth: 4, depthIdentifier: "depth" },
    { arbitrary: unit, weight: 5 },
    position,
    group,
    repeated,
  );
  const sequence = fc.array(tie("atom"), { maxLength: 4 }).map((parts) => ({
    source: parts.map(({ source }) => source).join(""),
    nullable: parts.every(({ nullable }) => nullable),
  }));
  const expression = fc
    .array(sequence, { minLength: 1, maxLength: 3, depthIdentifier: "depth" })
    .map((options) => ({
      source: options.map(({ source }) => source).join("|"),
      nullable: options.some(({ nullable }) => nullable),
    }));
  return { expression, atom };
});
/** A name may stand once only; groups that are numbered mean the same. */
const oneName = (source: string): boolean => (source.match(/\(\?<n>/g)?.length ?? 0) <= 1;
const text = fc.string({ unit: fc.constantFrom(..."aabb__  1éÉAB-.\n\r😀"), maxLength: 30 });

test("matches equal those of the platform's engine, and the look beforehand rules none out", () => {
  fc.assert(
    fc.property(
      expression.filter(({ source }) => oneName(source)),
      fc.array(text, { minLength: 1, maxLength: 5 }),
      ({ source }, texts) => {
        const compiled = compilePattern(source);
        if (!compiled.ok) return expect(compiled.reason).toMatch(/too large|characters/);
        for (const sample of texts) {
          const lower = sample.toLowerCase();
          const found = Array.from(lower.matchAll(new RegExp(source, "gimu")), ([hit]) => hit);
          const count = compiled.pattern.count(lower, { left: 1e6 });
          expect([sample, count]).toEqual([sample, found.length]);
          for (const hit of found) expect([hit, compiled.pattern.mayMatch(hit)]).toEqual([hit, true]);
        }
      },
    ),
    { numRuns: 3000 },
  );
});

test("any text as an expression is taken or refused, and stays within its budget", () => {
  const syntax = fc.string({ unit: fc.constantFrom(..."ab|()[]{}*+?.^$\\-,:<=!012dwsbÉ😀"), maxLength: 40 });
  fc.assert(
    fc.property(fc.oneof(syntax, fc.string({ maxLength: 300 })), text, (source, sample) => {
      const budget = { left: 100_000 };
      const result = matches(source, sample, budget);
      if (result === null) expect(budget.left).toBeLessThan(0);
    }),
    { numRuns: 3000 },
  );
});

describe("hostile expressions cost what the text's length and the budget allow", () => {
  const long = `${"a".repeat(5000)}!`;
  /** What is spent on a text of 5,001 units; `null`: the budget ran out. */
  const spent = (source: string): number | null => {
    const budget = { left: 1e6 };
    return matches(source, long, budget) === null ? null : 1e6 - budget.left;
  };
  it.each(["(a+)+$b", "(a|a)*b", "(a|aa)+b", "(.*)*x", "(a*)*(a*)*b", "(?:a?){30}a{30}b", "^(\\w+\\s?)*x$"])(
    "%s",
    (source) => {
      expect(spent(source)).toBeLessThan(200_000);
    },
  );

  it("an expression with too many states, and one whose every attempt reads to the end, run out of budget", () => {
    const random = Array.from({ length: 5000 }, (_, i) => "ab"[(i * i * 7919 + (i >> 3)) % 2]).join("");
    expect(matches("a.{900}b", random.repeat(4), { left: 1e6 })).toBe(null);
    expect(matches("a.*!|a", "a".repeat(5000), { left: 1e6 })).toBe(null);
  });

  it("a full table of states is begun anew, with the same matches", () => {
    let state = 1;
    const bit = () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return state >>> 31;
    };
    const bits = Array.from({ length: 100_000 }, bit).join("");
    const source = "1[01]{18}1[01]{10}0";
    expect(matches(source, bits, { left: 1e9 })).toBe(bits.match(new RegExp(source, "g"))?.length);
  });

  it("attack: states of hundreds of instructions each fit into a small heap", async () => {
    const work = `const { compilePattern } = await import(${JSON.stringify(PATTERN)});
      let state = 1;
      const bit = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) >>> 31;
      const text = Array.from({ length: 10_000 }, () => "ab"[bit()]).join("");
      const { pattern } = compilePattern("[ab]*a[ab]{900}c");
      process.exit(pattern.count(text, { left: 200_000_000 }) === 0 ? 0 : 1);`;
    const worker = new Worker(work, { eval: true, resourceLimits: { maxOldGenerationSizeMb: 40 } });
    expect(await once(worker, "exit")).toEqual([0]);
  });
});

/**
 * Why the expressions of models are not given to the platform's engine behind a bound of its steps, as those of schemas are: the bound
 * refuses ordinary ones, and the syntax that models write is not ECMAScript's.
 */
describe("the platform's engine in the automaton's place", () => {
  const description = `send a message to a channel ${"with a text and its attachments ".repeat(40)}`;
  const tools = 1000;

  it.each([
    ".*slack.*message.*",
    "(send|post).*(mail|message)",
    "\\w+_channel.*\\w+",
    "create.*|update.*|delete.*issue",
  ])("the bound refuses %s for 1,000 tools, the automaton's budget does not", (source) => {
    expect(stepsToMatch(source, description.length) * tools).toBeGreaterThan(100_000_000);
    const budget = { left: 1e6 + 3 * tools * description.length };
    for (let i = 0; i < tools; i++) expect(matches(source, description, budget)).not.toBe(null);
  });

  it.each(["(?i)slack", "(?P<verb>get|set)_", "\\Aopen", "open\\Z", "[]a]", "(?s)a.b"])(
    "%s is accepted here, but elsewhere it is another expression or none",
    (source) => {
      expect(typeof matches(source, "get_slack ]a open")).toBe("number");
      let same = true;
      try {
        same = new RegExp(source, "giu").test("get_slack ]a open");
      } catch {
        same = false;
      }
      expect(same).toBe(false);
    },
  );
});
