/** The option `tool_search`, and who searches. */
import { describe, expect, it, test } from "vitest";
import { decideMode, fallsBack, type SearchTarget } from "../../../../src/engine/tool-vault/mode.ts";
import { readSearchOption } from "../../../../src/engine/tool-vault/option.ts";
import { createVault } from "../../../../src/engine/tool-vault/vault.ts";
import type { Json } from "../../../../src/skill/manifest.ts";
import { CLAUDE, deferred, GPT, OLD_GPT, optionOf, tool } from "./vaults.ts";

const DEFAULTS = {
  variant: "bm25",
  mode: "auto",
  strategy: "bm25",
  always_loaded: [],
  budget_tokens: null,
  name: "hull_tool_search",
  include_stub_listing: false,
};

describe("forms", () => {
  it.each<[Json | undefined, object | null]>([
    [undefined, null],
    [null, null],
    [false, null],
    [true, { ...DEFAULTS, given: [] }],
    [{}, { ...DEFAULTS, given: [] }],
    ["bm25", { ...DEFAULTS, given: ["variant"] }],
    ["regex", { ...DEFAULTS, variant: "regex", strategy: "regex", given: ["variant"] }],
    [
      { strategy: "semantic", name: null },
      { ...DEFAULTS, strategy: "semantic", given: ["strategy"] },
    ],
    [
      { always_loaded: ["run"], budget_tokens: 500, name: "find_tool", include_stub_listing: true },
      {
        ...DEFAULTS,
        always_loaded: ["run"],
        budget_tokens: 500,
        name: "find_tool",
        include_stub_listing: true,
        given: ["always_loaded", "budget_tokens", "name", "include_stub_listing"],
      },
    ],
  ])("%j", (given, option) => {
    expect(readSearchOption(given)).toEqual(option);
  });
});

describe("faults name the field, what it takes and what came", () => {
  it.each<[Json, string, string]>([
    ["fuzzy", "tool_search", 'tool_search must be true, false, "bm25", "regex" or an object; got "fuzzy"'],
    [[], "tool_search", "got []"],
    [{ variant: "hosted" }, "tool_search.variant", 'must be one of "bm25", "regex"; got "hosted"'],
    [{ mode: 1 }, "tool_search.mode", 'one of "auto", "native", "client"; got 1'],
    [{ strategy: "x" }, "tool_search.strategy", '"bm25", "regex", "semantic", "host"; got "x"'],
    [{ always_loaded: "run" }, "tool_search.always_loaded", 'a list of tool names; got "run"'],
    [{ always_loaded: [1] }, "tool_search.always_loaded", "got [1]"],
    [{ budget_tokens: 1.5 }, "tool_search.budget_tokens", "a whole number of at least 1; got 1.5"],
    [{ budget_tokens: 0 }, "tool_search.budget_tokens", "got 0"],
    [{ name: "find tool" }, "tool_search.name", 'got "find tool"'],
    [{ include_stub_listing: "no" }, "tool_search.include_stub_listing", 'true or false; got "no"'],
    [{ varient: "bm25" }, "tool_search.varient", "did you mean variant?"],
  ])("%j", (given, path, message) => {
    expect(readSearchOption(given)).toEqual({
      faults: [{ path, message: expect.stringContaining(message) }],
    });
  });

  it("all at once", () => {
    expect(readSearchOption({ mode: 1, name: 2 })).toMatchObject({ faults: [{}, {}] });
  });
});

describe("the searcher", () => {
  const forced = { ...OLD_GPT, forced: true };
  const text: SearchTarget = { ...CLAUDE, tool_format: "text" };
  const cases: [string, Json, SearchTarget, string, RegExp[]][] = [
    ["auto, able", true, CLAUDE, "native bm25", []],
    ["auto, not able", true, OLD_GPT, "client", []],
    ["auto, refused before", true, { ...CLAUDE, refused: true }, "client", [/refused a native/]],
    ["auto, tools as text", true, text, "client", []],
    ["client", { mode: "client" }, CLAUDE, "client", []],
    ["native, refused before", { mode: "native" }, { ...CLAUDE, refused: true }, "native bm25", []],
    ["a variant", "regex", CLAUDE, "native regex", []],
    ["hosted instead of the default", true, GPT, "native hosted", []],
    [
      "hosted instead of what was asked for",
      "bm25",
      GPT,
      "native hosted",
      [/no tool search "bm25".*"hosted"/],
    ],
    ["only one variant", "regex", { ...CLAUDE, tool_search: ["bm25"] }, "native bm25", [/no tool search/]],
    ["a search without deferral", true, { ...CLAUDE, defer_loading: false }, "client", []],
    ["only what Hull cannot speak", true, { ...GPT, tool_search: ["client"] }, "client", []],
    ["forced", { mode: "native" }, forced, "native hosted", []],
    ["forced, auto", true, forced, "native hosted", []],
    ["forced where able", true, { ...CLAUDE, forced: true }, "native bm25", []],
    [
      "options without effect",
      { strategy: "regex", budget_tokens: 9, always_loaded: [] },
      CLAUDE,
      "native bm25",
      [/strategy has no effect/, /budget_tokens has no effect/],
    ],
  ];
  it.each(cases)("%s", (_, given, target, expected, warnings) => {
    const decision = decideMode(optionOf(given), target);
    if ("refusal" in decision) return expect.fail(decision.refusal.detail);
    expect(decision.mode === "native" ? `native ${decision.variant}` : decision.mode).toBe(expected);
    expect(decision.warnings.map(({ message }) => message)).toEqual(
      warnings.map((pattern) => expect.stringMatching(pattern)),
    );
  });
});

describe("what is refused before any request", () => {
  const some = [tool("run", "Runs"), deferred("deploy", "Deploys")];
  const all = [deferred("deploy", "Deploys"), deferred("rollback", "Undoes")];
  it.each<[string, typeof some, Json, SearchTarget, RegExp]>([
    ["all deferred, native", all, true, CLAUDE, /at least one tool.*Anthropic answers 400/s],
    ["all deferred, client", all, { mode: "client" }, OLD_GPT, /at least one tool.*Anthropic answers 400/s],
    ["no tools", [], true, CLAUDE, /there are no tools/],
    [
      "native where the provider has no search",
      some,
      { mode: "native" },
      OLD_GPT,
      /gpt-4o of openai has none\. Set tool_search\.mode to "client".*or leave tool_search out/,
    ],
    ["native with tools as text", some, { mode: "native" }, { ...CLAUDE, tool_format: "text" }, /as text/],
    ["a name that is taken", some, { name: "deploy", mode: "client" }, CLAUDE, /"deploy".*another name/],
  ])("%s", (_, tools, given, target, detail) => {
    expect(createVault(tools, optionOf(given), target)).toEqual({
      refusal: { option: expect.any(String), detail: expect.stringMatching(detail) },
    });
  });

  it("a pinned tool counts as not deferred; a pin of no tool is a warning", () => {
    const vault = createVault(all, optionOf({ always_loaded: ["deploy", "depoly"] }), CLAUDE);
    expect(vault).toMatchObject({
      mode: "native",
      warnings: [{ message: expect.stringContaining("depoly") }],
    });
  });
});

test("auto falls back once for a provider's 400, and remembers it", () => {
  const auto = optionOf(true);
  const native = optionOf({ mode: "native" });
  const refused = { status: 400, reason: "invalid_request" };
  expect(fallsBack(auto, { mode: "native" }, refused)).toBe(true);
  expect(fallsBack(auto, { mode: "native" }, { status: 422, reason: "unknown" })).toBe(true);
  expect(fallsBack(auto, { mode: "client" }, refused)).toBe(false);
  expect(fallsBack(native, { mode: "native" }, refused)).toBe(false);
  expect(fallsBack(auto, { mode: "native" }, { status: 400, reason: "context_overflow" })).toBe(false);
  expect(fallsBack(auto, { mode: "native" }, { status: 500, reason: "server_error" })).toBe(false);
  expect(fallsBack(auto, { mode: "native" }, { status: null, reason: "network_error" })).toBe(false);
});
