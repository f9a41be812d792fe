/** What a search finds, against the formula of BM25 and against the platform's matches. */

import { describe, expect, it, test } from "vitest";
import type { ToolDefinition } from "../../../../src/engine/messages.ts";
import { compilePattern } from "../../../../src/engine/regex/pattern.ts";
import { wordsOf } from "../../../../src/engine/tool-vault/bm25.ts";
import { searchText, ToolSet } from "../../../../src/engine/tool-vault/tool-set.ts";
import { manyTools } from "../../../support/many-tools.ts";
import { fc } from "../../../support/property.ts";
import { deferred, tool } from "./vaults.ts";

test("what is searched: name, description, top-level parameters", () => {
  const parameters = {
    type: "object",
    properties: {
      path: { type: "string", description: "Where It Is" },
      mode: { type: "object", properties: { deep: { type: "string", description: "no" } } },
    },
  };
  const text = searchText(deferred("open_file", "Opens.", { parameters, namespace: "no" }));
  expect(text).toBe("open_file\nopens.\npath: where it is\nmode");
});

test("words: lower case, split at what is neither letter nor digit, nothing else", () => {
  expect(wordsOf("open_file: readFile2 the ÉTÉ-été 日本")).toEqual([
    "open",
    "file",
    "readfile2",
    "the",
    "été",
    "été",
    "日本",
  ]);
});

test("words of scripts without blanks are pairs of characters; marks belong to their letters", () => {
  expect(wordsOf("查询天气、CSV文件变换")).toEqual(["查询", "询天", "天气", "csv", "文件", "件变", "变换"]);
  expect(wordsOf("cafe\u0301 हिन्दी")).toEqual(["caf\u00e9", "हिन्दी"]);
  const tools = [deferred("a", "查询城市的天气预报"), deferred("b", "发送电子邮件")];
  expect(byWords(tools, "明天天气怎么样")).toEqual(["a"]);
});

const byWords = (tools: readonly ToolDefinition[], query: string) =>
  new ToolSet(tools, []).byWords(query, undefined);
function byPattern(tools: readonly ToolDefinition[], source: string): string[] | null {
  const compiled = compilePattern(source);
  return compiled.ok
    ? new ToolSet(tools, []).byPattern(compiled.pattern, undefined)
    : expect.fail(compiled.reason);
}

const FILES = [
  deferred("open_file", "Open a file"),
  deferred("close_file", "Close a file, a file that is open"),
  deferred("send_mail", "Send a mail"),
  tool("read_file", "Reads a file"),
];

describe("bm25", () => {
  it.each<[string, string[] | null]>([
    ["open file", ["open_file", "close_file"]],
    ["OPEN_FILE", ["open_file", "close_file"]],
    ["mail mail", ["send_mail"]],
    ["nothing", []],
    ["?!", null],
  ])("%s", (query, names) => {
    expect(byWords(FILES, query)).toEqual(names);
  });

  it("is the formula, with ties by name and at most 20", () => {
    const word = fc.constantFrom(..."abcdefg");
    const documents = fc.array(fc.array(word, { minLength: 1, maxLength: 12 }), {
      minLength: 1,
      maxLength: 40,
    });
    const query = fc.array(word, { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(documents, query, (texts, asked) => {
        const tools = texts.map((words, i) => deferred(`${(i * 7) % 40}x`, words.join(" ")));
        const docs = tools.map((t) => wordsOf(searchText(t)));
        const average = docs.reduce((sum, words) => sum + words.length, 0) / docs.length;
        const expected = new Map(
          docs.map((words, i) => {
            let score = 0;
            for (const term of asked) {
              const n = docs.filter((other) => other.includes(term)).length;
              const f = words.filter((w) => w === term).length;
              const idf = Math.log((docs.length - n + 0.5) / (n + 0.5) + 1);
              score += (idf * f * 2.5) / (f + 1.5 * (0.25 + (0.75 * words.length) / average));
            }
            return [tools[i]?.name ?? "", score];
          }),
        );
        const found = byWords(tools, asked.join(" ")) ?? [];
        const scores = found.map((name) => expected.get(name) ?? 0);
        const positive = Array.from(expected.values())
          .filter((score) => score > 0)
          .sort((a, b) => b - a);
        expect(scores.length).toBe(Math.min(20, positive.length));
        for (const [i, score] of scores.entries()) expect(score).toBeCloseTo(positive[i] ?? 0, 9);
        for (const [i, name] of found.entries()) {
          const next = found[i + 1];
          const same = expected.get(name) === expected.get(next ?? "");
          if (next !== undefined && same) expect(name < next).toBe(true);
        }
      }),
    );
  });
});

describe("regex", () => {
  it.each<[string, string[]]>([
    ["FILE", ["close_file", "open_file"]],
    ["^open_", ["open_file"]],
    ["open.*file", ["open_file"]],
    ["(send|close)_\\w+", ["close_file", "send_mail"]],
    ["reads", []],
    ["(?i)Mail$", ["send_mail"]],
  ])("%s", (source, names) => {
    expect(byPattern(FILES, source)).toEqual(names);
  });

  it("ranks by number of matches as the platform counts them, wherever a text can be looked up first", () => {
    const tools = manyTools(600);
    for (const source of [
      "order",
      "order|mail_invoice",
      "the.*reason",
      "(approve|cancel)_\\w+_order",
      "_\\d*7$",
      "log",
      "\\bid\\b",
      "[^a-z]{2}",
      "a?",
      "voic",
      ": why",
      "e\\b(?:.|\\n){3}",
    ]) {
      const counts = tools
        .filter((t) => t.defer_loading)
        .map((t) => ({ name: t.name, count: searchText(t).match(new RegExp(source, "gim"))?.length ?? 0 }));
      const expected = counts
        .filter(({ count }) => count > 0)
        .sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1))
        .slice(0, 20);
      expect([source, byPattern(tools, source)]).toEqual([source, expected.map(({ name }) => name)]);
    }
  });

  it("one that costs too much ends", () => {
    const tools = [tool("a", "A"), deferred("long", "a".repeat(300_000))];
    expect(byPattern(tools, "a.*!|a")).toBe(null);
  });
});

test("a scope hides the tools that it does not name, before the best are chosen", () => {
  const tools = manyTools(400);
  const wanted = tools.filter(({ name }) => name.startsWith("open_")).at(-1)?.name ?? "";
  expect(new ToolSet(tools, []).byWords("open", new Set([wanted]))).toEqual([wanted]);
});
