import { describe, expect, test } from "vitest";
import { HullError } from "../../../src/errors.ts";
import { resolveHook } from "../../../src/run/agent/resolve-hook.ts";
import { uploadFault } from "../../../src/skill/hooks.ts";
import { tokens } from "../../../src/skill/javascript.ts";
import { guardLoops } from "../../../src/tool/isolate/loop-guard.ts";

const SKILLS = [
  { slug: "one", hooks: { module: "a".repeat(64), exports: ["turn", "both"] } },
  { slug: "two", hooks: { module: "b".repeat(64), exports: ["both"] }, uploaded_by: "acme" },
  { slug: "none" },
];

describe("a hook reference", () => {
  test.each([
    ["turn", { slug: "one", module: "a".repeat(64), exportName: "turn", fresh: false }],
    ["two#both", { slug: "two", module: "b".repeat(64), exportName: "both", fresh: true }],
    ["both", /exported by one, two; write one#both/],
    ["nope", /no hook "nope".*one#turn, one#both, two#both/],
    ["two#turn", /no hook "two#turn"/],
    ["none#turn", /no hook/],
    ["toString", /no hook/],
  ])("%s", (reference, expected) => {
    let found: unknown;
    try {
      found = resolveHook(reference, SKILLS, "post_turn_callback");
    } catch (error) {
      if (!(error instanceof HullError)) throw error;
      expect(error.data).toMatchObject({
        code: "invalid_request",
        members: { option: "post_turn_callback" },
      });
      found = error.message;
    }
    if (expected instanceof RegExp) expect(found).toMatch(expected);
    else expect(found).toEqual(expected);
  });

  test("says where no skill has hooks", () => {
    expect(() => resolveHook("turn", [{ slug: "none" }], "post_turn_callback")).toThrow(
      /No skill of this run has a hook module/,
    );
  });
});

describe("code", () => {
  test.each([
    ["a / b / c", "IdentifierName a|Punctuator /|IdentifierName b|Punctuator /|IdentifierName c"],
    ["x = /[/]\\//g", "IdentifierName x|Punctuator =|RegularExpressionLiteral /[/]\\//g"],
    [
      "if (a) /b/.test(c)",
      "IdentifierName if|Punctuator (|IdentifierName a|Punctuator )|RegularExpressionLiteral /b/|Punctuator .|IdentifierName test|Punctuator (|IdentifierName c|Punctuator )",
    ],
    [
      "(a) / b / c",
      "Punctuator (|IdentifierName a|Punctuator )|Punctuator /|IdentifierName b|Punctuator /|IdentifierName c",
    ],
    [
      "`a${`b` / {}}c` / d",
      "TemplateHead `a${|NoSubstitutionTemplate `b`|Punctuator /|Punctuator {|Punctuator }|TemplateTail }c`|Punctuator /|IdentifierName d",
    ],
    ["'it\\'s' /* x */ // y\n+ 0x1Fn", "StringLiteral 'it\\'s'|Punctuator +|NumericLiteral 0x1Fn"],
  ])("%s", (source, expected) => {
    expect([...tokens(source)].map(({ type, text }) => `${type} ${text}`).join("|")).toBe(expected);
  });

  test("what follows a token that is too long to read is one token, too", () => {
    const long = `/*${"*x".repeat(6_000_000)}*/ a`;
    expect(Array.from(tokens(`a ${long}`), ({ type, start }) => [type, start])).toEqual([
      ["IdentifierName", 0],
      ["Invalid", 2],
    ]);
  });

  test.each([
    ["while (a) b()", "while (T(),a) b()"],
    ["do { a } while(b)", "do { a } while(T(),b)"],
    ["for(;;) a", "for(;T();) a"],
    ["for (let i = (1, 2); i < f(';'); i++) {}", "for (let i = (1, 2);T(), i < f(';'); i++) {}"],
    ["for await (const a of b) { c }", "for await (const a of b) {T(); c }"],
    [
      "a.for(b); a?.while(b); '/while (a)/'; /while(a)/; `${() => { while (x) ; }}`",
      "a.for(b); a?.while(b); '/while (a)/'; /while(a)/; `${() => { while (T(),x) ; }}`",
    ],
  ])("loops are guarded: %s", (source, expected) => {
    expect(guardLoops(source).replaceAll("__hull_tick", "T")).toBe(expected);
  });

  test.each([
    [
      "hooks.js",
      "export const a = 1; // import x from 'y'\nconst s = 'import \"x\"'; a.import(1); ({import: 1, from: 'x'})",
      null,
    ],
    ["hooks.js", "export const a = 1;\n  import x from 'y';", { line: 2, column: 3 }],
    ["hooks.js", "export * from 'x'", { line: 1, column: 10 }],
    ["hooks.js", "export const a = () => import('x')", { line: 1, column: 24 }],
    ["hooks.js", "export const a = () => [...import('x')]", { line: 1, column: 28 }],
    ["hooks.js", "export const a = (b) => b?.import('x')", null],
    ["hooks.ts", "export const a: number = 1", undefined],
  ])("uploaded %s %j", (path, text, at) => {
    const fault = uploadFault({ path, mode: 0o644, bytes: new Uint8Array(Buffer.from(text)) });
    expect(fault === null ? null : fault.at).toEqual(at);
    // esbuild refuses to overwrite its input otherwise.
    if (fault !== null) expect(fault.hint?.includes("--allow-overwrite")).toBe(path === "hooks.js");
  });
});
