/** Compaction: when it begins, what it keeps, and what it puts in place of the rest. */
import { describe, expect, it } from "vitest";
import { applyAgentRecord } from "../../../../src/engine/agent/apply.ts";
import {
  compactionRecord,
  dueCompaction,
  estimateTokens,
  planCompaction,
  shortenOutput,
  summaryInstructions,
  withoutArchived,
} from "../../../../src/engine/agent/compaction.ts";
import type { CompactionOptions } from "../../../../src/engine/agent/spec.ts";
import { EMPTY_SESSION } from "../../../../src/engine/agent/state.ts";
import type { Message } from "../../../../src/engine/messages.ts";
import { FAILURES } from "../../../../src/errors/failure-class.ts";
import { ProviderAuthFailed } from "../../../../src/errors/provider.ts";
import { mergeModelRegistry, shippedModels } from "../../../../src/model/registry/registry.ts";
import { contextWindow } from "../../../../src/model/registry/window.ts";
import { play, type Script, SPEC, tool, userTexts } from "./harness.ts";

const user = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] });
const said = (text: string): Message => ({ role: "assistant", content: [{ type: "output_text", text }] });
const called = (id: string, raw = "{}"): Message => ({
  role: "assistant",
  content: [{ type: "tool_call", id, name: "look", arguments: {}, raw }],
});
const result = (id: string, content = "ok"): Message => ({
  role: "tool",
  results: [{ call_id: id, name: "look", content, is_error: false }],
});
const short = (messages: readonly Message[]) =>
  messages
    .map((message) => {
      if (message.role === "tool") return "r";
      if (message.role === "user") return JSON.stringify(message).includes("older message") ? "S" : "u";
      return message.content.some(({ type }) => type === "tool_call") ? "c" : "a";
    })
    .join("");
const written = (letters: string): Message[] =>
  Array.from(letters, (letter, n) => {
    const made = { u: user("u"), a: said("a"), c: called(`c${n}`), r: result(`c${n - 1}`) };
    if (letter === "S") return user("[3 older messages were compacted: cut short]\nuser: x");
    return made[letter === "u" || letter === "a" || letter === "c" ? letter : "r"];
  });

const OPTIONS: CompactionOptions = { ...SPEC.compaction, auto: true, threshold_tokens: 1, keep_last: 1 };
const tokens = (count: number): Message[] => [user("go"), said("x".repeat(4 * count - 3)), user("b")];

describe("when a history is compacted", () => {
  it("counts the characters of all texts and of the system text, by four", () => {
    const image: Message = { role: "user", content: [{ type: "image", url: "https://e.example/a" }] };
    const all = [user("abcd"), said("ab"), called("c1", '{"a":1}'), result("c1", "abc"), image];
    expect(estimateTokens(all, "abcd")).toBe(Math.ceil((4 + 2 + 7 + 3 + 4) / 4));
  });

  type Mode = "preflight" | "auto" | "idle";
  it.each<[string, number, Partial<CompactionOptions>, number | null, Mode, string | null]>([
    ["at the threshold, before a turn", 48_000, {}, null, "preflight", "preflight"],
    ["under the threshold", 47_999, {}, null, "preflight", null],
    ["at the threshold, after tools", 48_000, {}, null, "auto", null],
    ["over the threshold, after tools", 48_001, {}, null, "auto", "auto"],
    ["65 % of the window caps the default: reached", 5324, {}, 8192, "preflight", "preflight"],
    ["65 % of the window caps the default: one token below", 5323, {}, 8192, "preflight", null],
    [
      "75 % of the window caps the user's threshold: one token below",
      6143,
      { threshold_tokens: 9000 },
      8192,
      "preflight",
      null,
    ],
    [
      "75 % of the window caps the user's threshold: reached",
      6144,
      { threshold_tokens: 9000 },
      8192,
      "preflight",
      "preflight",
    ],
    ["false: never", 1_000_000, { auto: false }, 200_000, "preflight", null],
    ["false: not on idle either", 1_000_000, { auto: false }, 200_000, "idle", null],
    ["absent: on idle", 48_001, { auto: null }, null, "idle", "idle"],
    ["absent: not before a turn", 100_000, { auto: null }, null, "preflight", null],
    ["absent, Claude, 151k", 151_000, { auto: null }, 200_000, "preflight", "hard_limit"],
    ["absent, Claude, 150k", 150_000, { auto: null }, 200_000, "auto", null],
    ["a small window, at the least hard limit", 4096, { auto: null }, 1000, "auto", null],
    ["a small window, over the least hard limit", 4097, { auto: null }, 1000, "auto", "hard_limit"],
    ["a hard limit from the options", 11, { auto: null, hard_limit_tokens: 10 }, null, "auto", "hard_limit"],
  ])("%s: %i tokens", (_, count, changes, window, mode, expected) => {
    const options = { ...OPTIONS, threshold_tokens: null, ...changes };
    const plan = dueCompaction(tokens(count), "", options, window, mode);
    expect(plan?.mode ?? null).toBe(expected);
    if (expected === "hard_limit") expect(plan?.engine_strategy).toBe("llm");
  });

  it.each([
    ["claude-opus-4-6", 1_000_000],
    ["anthropic/claude-sonnet-4-20250514", 200_000],
    ["gpt-4o-mini", 128_000],
    ["gpt-4.1", 1_000_000],
    ["gpt-4-turbo", 128_000],
    ["gpt-4", 8192],
    ["gpt-4-0613", 8192],
    ["gpt-3.5-turbo", 16_385],
    ["o3-mini", 200_000],
    ["gemini-2.5-pro", 1_000_000],
    ["gemini-1.5-flash", 1_000_000],
    ["gemini-pro", 32_768],
    ["gpt-5", 400_000],
    ["mock", null],
  ])("the window of %s is %s", (model, window) => expect(contextWindow(shippedModels, model)).toBe(window));

  it("hull.toml adds windows", () => {
    const models = { "Acme/One": { context_window: 32_000 }, "gpt-4": { context_window: 9 } };
    const own = mergeModelRegistry(shippedModels, { llm: { models } });
    expect([contextWindow(own, "acme/one"), contextWindow(own, "gpt-4")]).toEqual([32_000, 9]);
  });
});

describe("where it is cut", () => {
  it.each([
    ["messages up to keep_first + keep_last stay", "uaua", 2, 2, null],
    ["the cut moves back to a user's message", "uauaua", 0, 1, "Sua"],
    ["the cut moves back to it however far it is", "uaucrcra", 0, 2, "Sucrcra"],
    ["within one prompt, to a turn: call and result stay together", "ucrcrcr", 0, 3, "Scrcr"],
    ["within one prompt, to a turn, also after a summary", "Sucrcr", 0, 1, "Scr"],
    ["results stay with the calls that are kept first", "ucruaua", 2, 1, "ucrSua"],
    ["a summary alone is not summarised again", "Su", 0, 1, null],
    ["a summary with its turn is not summarised again", "Scr", 0, 1, null],
    ["with nothing to keep, all messages are summarised", "uaua", 0, 0, "S"],
  ])("%s", (_, letters, keep_first, keep_last, expected) => {
    const messages = written(letters);
    const wanted = { mode: "auto" as const, before: 9, strategy: "truncate" as const };
    const plan = planCompaction(messages, { keep_first, keep_last }, wanted);
    const after = plan === null ? null : withoutArchived(messages, { ...plan, summary: plan.summary ?? "" });
    expect(after === null ? null : short(after)).toBe(expected);
  });
});

describe("summaries", () => {
  const log = `first line of the log${"x".repeat(200)}\n${"y\n".repeat(300)}`;
  const archived = [user("goal"), said("z".repeat(900)), called("c1"), result("c1", log)];
  const summary = (messages: Message[], strategy: "truncate" | "observation_mask"): string[] => {
    const options = { keep_first: 0, keep_last: 0 };
    return (planCompaction(messages, options, { mode: "manual", before: 0, strategy })?.summary ?? "").split(
      "\n",
    );
  };

  it("truncate: at most 15 messages of 500 characters, then the number of the others", () => {
    const lines = summary(
      [said("zz ".repeat(300)), ...Array.from({ length: 17 }, () => user("u"))],
      "truncate",
    );
    expect(lines[0]).toMatch(/^\[18 older messages were compacted: /);
    expect(lines[1]).toBe(`assistant: ${"zz ".repeat(166)}zz`);
    expect([lines.length, lines.at(-1)]).toEqual([17, "… and 3 more"]);
    expect(summary([user("u")], "truncate")).toEqual([
      "[1 older message was compacted: the first of them, cut short]",
      "user: u",
    ]);
  });

  it("observation_mask: long messages become their first line, those of the model and summaries stay", () => {
    const earlier = user(`[9 older messages were compacted: masked]\nuser: ${"goal".repeat(200)}`);
    const lines = summary([earlier, ...archived], "observation_mask");
    expect(lines).toEqual([
      expect.stringMatching(/^\[5 older messages were compacted: /),
      `summary: user: ${"goal".repeat(200)}`,
      "user: goal",
      `assistant: ${"z".repeat(900)}`,
      "assistant: (calls look with {})",
      `tool look: ${log.slice(0, 120)} [masked: 302 lines, ${log.length} characters]`,
    ]);
  });

  it("llm: count, conversation as role-prefixed lines, and what the summary is to hold", () => {
    const text = summaryInstructions(archived);
    for (const part of ["4 messages", "user: goal", "tool look: first line", "summary only"]) {
      expect(text).toContain(part);
    }
    expect(text).toMatch(/goals.*constraints.*decisions.*tool work.*open issues.*next actions/s);
  });
});

describe("long outputs", () => {
  it("keep head, tail, diagnostics and a marker", () => {
    const error = "src/main.rs:12: error: no such thing";
    const filler = (letter: string) => `${letter.repeat(99)}\n`.repeat(100);
    const text = `${filler("a")}${error}\n${filler("b")}`;
    const shown = shortenOutput(text, 16_000);
    expect(shown.split("\n")).toContain(error);
    expect(shown.startsWith(`${"a".repeat(99)}\n`) && shown.endsWith(`${"b".repeat(99)}\n`)).toBe(true);
    const [, missing] = /\[hull: (\d+) characters left out/.exec(shown) ?? [];
    const kept = shown.replace(/\[hull: .*\]\n/, "");
    expect(Math.abs(text.length - kept.length - Number(missing))).toBeLessThan(5);
    expect(shown.split("\n").every((line) => /^a{99}$|^b{99}$|^\[hull|error|^$/.test(line))).toBe(true);
  });

  it.each([
    ["nothing but diagnostics", "error: x\n".repeat(10_000), 1000],
    ["one line", "x".repeat(10_000), 1000],
    ["long diagnostics", `${"error ".repeat(500)}\n`.repeat(50), 1000],
    ["emoji", "🙂".repeat(10_000), 1001],
  ])("stay within their limit: %s", (_, text, limit) => {
    const shown = shortenOutput(text, limit);
    expect(shown.length).toBeLessThan(limit + 150);
    expect(shown.isWellFormed()).toBe(true);
    expect((shown.match(/^error: x$/gm) ?? []).length).toBeLessThanOrEqual(150);
  });

  it("under the limit they stay unchanged", () => {
    expect([shortenOutput("abc", 3), shortenOutput("x".repeat(50), 1)]).toEqual([
      "abc",
      "[hull: 50 characters left out here]",
    ]);
  });
});

describe("in a run", () => {
  const look: NonNullable<Script["spec"]> = { tools: [tool("look")] };
  const compaction = (changes: Partial<CompactionOptions>): NonNullable<Script["spec"]> => ({
    ...look,
    compaction: { ...OPTIONS, ...changes },
  });
  const replies: Script["replies"] = [{ calls: [["look", {}]] }, "done"];
  const KEYS = {
    mode: "auto",
    archived_messages: 1,
    estimated_tokens_before: expect.any(Number),
    estimated_tokens_after: expect.any(Number),
    keep_first: 0,
    keep_last: 1,
  };

  it.each<[string, Partial<CompactionOptions>, Partial<Script>, string, object]>([
    [
      "custom",
      { strategy: "custom", compact_callback: "mine" },
      { hooks: { mine: () => ({ summary: "MINE" }) } },
      "MINE",
      { strategy: "custom", engine_strategy: "custom" },
    ],
    [
      "llm",
      { strategy: "llm" },
      { summary: "THEIRS" },
      "THEIRS",
      { strategy: "llm", engine_strategy: "llm" },
    ],
    [
      "a call that fails",
      { strategy: "llm", strategy_name: "hybrid" },
      {
        summary: new ProviderAuthFailed({
          provider: "p",
          provider_status: 401,
          variable: "V",
          failure: FAILURES.auth_failure,
        }),
      },
      "user: go",
      { strategy: "hybrid", engine_strategy: "truncate" },
    ],
    [
      "an answer that says nothing",
      { strategy: "llm" },
      { summary: " " },
      "user: go",
      { engine_strategy: "truncate" },
    ],
    [
      "observation_mask",
      {},
      {},
      "user: go",
      { strategy: "observation_mask", engine_strategy: "observation_mask" },
    ],
    ["truncate", { strategy: "truncate" }, {}, "user: go", { strategy: "truncate" }],
  ])(
    "%s: the next request contains the summary, and the record says how it was made",
    async (_, options, script, text, names) => {
      const { state, requests, records } = await play({ spec: compaction(options), replies, ...script });
      const [first] = userTexts(requests[1] ?? expect.fail("one request only"));
      expect(first).toMatch(/^\[1 older message was compacted: /);
      expect(first).toContain(text);
      expect(short(requests[1]?.messages ?? [])).toBe("Scr");
      expect(state.summary).toContain(text);
      const [done] = records.flatMap((record) => (record.type === "compacted" ? [record.compacted] : []));
      expect(done).toMatchObject({ ...KEYS, ...names });
    },
  );

  it.each([
    ["llm", 1],
    ["truncate", 0],
  ] as const)("%s: what a model's summary costs is the run's own cost", async (strategy, paid) => {
    const { run, records, requests } = await play({ spec: compaction({ strategy }), replies });
    const summaries = records.filter(({ type }) => type === "compacted").length * paid;
    expect(run.totals).toMatchObject({
      input_tokens: requests.length * 10 + summaries * 1000,
      cost_usd: summaries * 0.5,
    });
  });

  it("happens once after the tools of a turn, however much is left", async () => {
    const asked: number[] = [];
    const { records } = await play({
      spec: {
        ...compaction({ strategy: "custom", compact_callback: "mine", keep_last: 2 }),
        prompt: [user("a"), said("b"), user("c"), said("d"), user("go")],
      },
      replies: [{ calls: [["look", {}]] }, "done"],
      hooks: {
        mine: (archived) => {
          asked.push(Array.isArray(archived) ? archived.length : 0);
          return `summary of ${asked.at(-1)}`;
        },
      },
    });
    const done = records.flatMap((record) => (record.type === "compacted" ? [record.compacted] : []));
    expect(done.map(({ summary }) => summary)).toEqual(asked.map((count) => `summary of ${count}`));
    expect(done.map(({ archived_messages }) => archived_messages)).toEqual(asked);
    expect(done.map(({ mode }) => mode)).toEqual(["preflight", "auto", "preflight"]);
  });

  it("without auto_compact a mock model never compacts, and long outputs are cut", async () => {
    const { records, requests } = await play({
      spec: { ...look, compaction: { ...OPTIONS, auto: null, keep_last: 0, tool_output_max_chars: 100 } },
      replies,
      results: { look: ["x".repeat(900_000)] },
    });
    expect(records.some(({ type }) => type === "compacted")).toBe(false);
    expect(JSON.stringify(requests[1]).length).toBeLessThan(1000);
  });

  it("summaries follow each other in the session's", async () => {
    const { state } = await play({ spec: compaction({}), replies });
    const body = { ...KEYS, mode: "manual" as const, strategy: "truncate", engine_strategy: "truncate" };
    const done = { ...body, estimated_tokens_before: 1, estimated_tokens_after: 1, summary: "further" };
    const before = { ...EMPTY_SESSION, visible: state.visible, summary: state.summary };
    const after = applyAgentRecord(before, { v: 1, at: 0, type: "compacted", run: null, compacted: done });
    expect(after.summary).toBe(`${state.summary}\n\nfurther`);
  });
});

it("the record of a compaction has no messages", () => {
  const archived = [user("one")];
  const rest = {
    mode: "manual" as const,
    strategy: "truncate",
    archived_messages: 1,
    estimated_tokens_before: 10,
    keep_first: 0,
    keep_last: 0,
  };
  const plan = { ...rest, engine_strategy: "truncate" as const, archived, summary: null };
  expect(compactionRecord(archived, null, plan, "They met.")).toEqual({
    type: "compacted",
    run: null,
    compacted: {
      ...rest,
      engine_strategy: "truncate",
      summary: "They met.",
      estimated_tokens_after: expect.any(Number),
    },
  });
});
