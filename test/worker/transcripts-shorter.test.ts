/** compact, summarize and auto_compact over HTTP, models by the mock provider. */
import { describe, expect, it } from "vitest";
import type { Transcript } from "../../src/llm/transcript.ts";
import { ask, client, MOCK, TALK, TOOLS, transcriptOf } from "./conversations.ts";

describe("compact", () => {
  const METADATA = {
    mode: "manual",
    strategy: "observation_mask",
    engine_strategy: "observation_mask",
    archived_messages: 2,
    estimated_tokens_before: 4,
    estimated_tokens_after: expect.any(Number),
    keep_first: 0,
    keep_last: 2,
  };

  it("a given summary is the summary, the last messages stay, the original is an asset", async () => {
    const source = await transcriptOf(TALK);
    const done = await ask<Transcript>("compact", { transcript: source, keep_last: 2, summary: "Planned." });
    expect(done.summary).toBe("Planned.");
    expect(done.messages).toEqual([
      {
        role: "user",
        content: expect.stringMatching(/^\[2 older messages were compacted: .*\]\nPlanned\.$/),
      },
      ...TALK.slice(2),
    ]);
    expect(done.events.slice(1, 3)).toEqual(source.events.slice(2));
    expect(done.events.at(-1)).toMatchObject({
      kind: "compaction",
      visibility: "internal",
      metadata: METADATA,
    });
    expect(done.assets).toMatchObject([{ kind: "compaction_source_transcript", data: source }]);
    expect(done.id).toBe(source.id);
    const again = await ask<Transcript>("compact", { transcript: done, keep_last: 1, strategy: "truncate" });
    expect(again.summary).toMatch(/^Planned\.\n\n\[/);
    expect(again.assets).toMatchObject([{ data: { assets: [] } }, { data: { assets: [] } }]);
  });

  it("a model that is scripted writes what the script says", async () => {
    const transcript = await transcriptOf(TALK);
    const scripted = { ...MOCK, mock: [{ text: "As scripted." }] };
    for (const [operation, more] of [
      ["compact", { strategy: "llm" }],
      ["summarize", {}],
    ] as const) {
      const done = await ask<Transcript>(operation, { transcript, keep_last: 2, ...more, ...scripted });
      expect([operation, done.summary]).toEqual([operation, expect.stringContaining("As scripted.")]);
    }
  });

  it("changes nothing if all messages stay, unless a summary is given", async () => {
    const source = await transcriptOf(TALK);
    expect(await ask("compact", { transcript: source, keep_last: 4 })).toEqual(source);
    expect(await ask("compact", { transcript: source, keep_first: 1, keep_last: 3 })).toEqual(source);
    const told = await ask<Transcript>("compact", { transcript: source, keep_last: 4, summary: "Planned." });
    expect([told.summary, told.messages]).toEqual(["Planned.", TALK]);
  });

  it.each([
    ["observation_mask", /^\[2 older .* masked\]\nuser: one\nassistant: two$/],
    ["truncate", /^\[2 older .* cut short\]\nuser: one\nassistant: two$/],
    ["llm", /^\[2 older .* summarised them\]\nThe mock model got a prompt of/],
  ])("%s makes its own", async (strategy, expected) => {
    const options = strategy === "llm" ? MOCK : {};
    const transcript = await transcriptOf(TALK);
    const done = await ask<Transcript>("compact", { transcript, keep_last: 2, strategy, ...options });
    expect(done.summary).toMatch(expected);
    expect(done.messages[0]?.content).toBe(done.summary);
    expect(done.events.at(-1)?.metadata).toEqual({ ...METADATA, strategy, engine_strategy: strategy });
  });

  it("a result stays with its call, and system messages stay", async () => {
    const system = { role: "system", content: "be brief" };
    const transcript = await transcriptOf([system, ...TALK, ...TOOLS]);
    const done = await ask<Transcript>("compact", { transcript, keep_last: 1 });
    expect(done.messages.map(({ role }) => role)).toEqual(["system", "user", "user", "assistant", "tool"]);
    expect(done.summary).not.toContain("be brief");
  });

  it("target_tokens keeps fewer", async () => {
    const transcript = await transcriptOf([
      ...TALK,
      ...TALK.map((m) => ({ ...m, content: "x".repeat(400) })),
    ]);
    const kept = async (target_tokens: number) =>
      (await ask<Transcript>("compact", { transcript, keep_last: 7, target_tokens })).messages.length - 1;
    expect(await Promise.all([kept(1000), kept(300), kept(200), kept(1)])).toEqual([7, 2, 2, 0]);
  });
});

describe("summarize", () => {
  it("sets a model's summary and keeps the last messages", async () => {
    const transcript = await transcriptOf([...TALK, ...TOOLS]);
    const done = await ask<Transcript>("summarize", {
      transcript,
      keep_last: 1,
      prompt: "Tell me.",
      ...MOCK,
    });
    expect(done.summary).toMatch(/^The mock model got a prompt of \d+ words: Tell me\./);
    expect(done.archived_messages).toBe(5);
    expect(done.messages.slice(-2)).toEqual(TOOLS.slice(1));
    expect(done.messages).toHaveLength(3);
    expect(done.messages[0]?.content).toContain(done.summary);
    const call = await client.post("/llm/call", { prompt: "go", options: { ...MOCK, transcript: done } });
    expect(call.status).toBe(200);
    const list = transcript.messages;
    const whole = await ask<Transcript>("summarize", { messages: list, keep_last: 9, ...MOCK });
    expect([whole.messages, whole.archived_messages]).toEqual([list, 0]);
    expect(whole.summary).not.toBe(undefined);
  });

  it("a model's refusal is no summary", async () => {
    const mock = [{ text: "I would rather not.", stop_reason: "refusal" }];
    const refused = await ask("summarize", { messages: TALK, ...MOCK, mock }, 502);
    expect(refused).toMatchObject({ code: "model_refused" });
  });
});

describe("auto_compact", () => {
  const LONG = [...TALK, { role: "user", content: "x".repeat(800) }];

  it("answers the list as a run would continue with it", async () => {
    expect(await ask("auto_compact", { messages: LONG })).toEqual(LONG);
    const options = { compact_threshold: 100, compact_keep_last: 1 };
    expect(await ask("auto_compact", { messages: LONG, ...options })).toEqual([
      { role: "user", content: expect.stringMatching(/^\[4 older messages were compacted: /) },
      LONG[4],
    ]);
    expect(await ask("auto_compact", { messages: LONG, ...options, auto_compact: false })).toEqual(LONG);
    const group = { strategy: "truncate", threshold: 100, keep_first: 1, keep_last: 1 };
    const grouped = await ask<object[]>("auto_compact", { messages: LONG, compaction: group });
    expect(grouped).toHaveLength(3);
    expect(await ask("auto_compact", { messages: LONG, compaction: { ...group, strategy: "none" } })).toEqual(
      LONG,
    );
  });

  it("shortens long results first", async () => {
    const messages = [...TOOLS.slice(0, 2), { ...TOOLS[2], content: "y".repeat(9000) }, ...TALK];
    const options = { compact_threshold: 1000, tool_output_max_chars: 100 };
    const shorter = await ask<{ content: string }[]>("auto_compact", { messages, ...options });
    expect(shorter).toHaveLength(7);
    expect(shorter[2]?.content.length).toBeLessThan(250);
  });

  it("knows the model's window, and at its hard limit works without a failing model", async () => {
    const messages = [...TALK, { role: "user", content: "x".repeat(26_000) }];
    const model = { provider: "openai", model: "gpt-4" };
    const options = { compact_keep_last: 1, compact_strategy: "truncate" };
    expect(await ask("auto_compact", { messages, ...options })).toEqual(messages);
    expect(await ask("auto_compact", { messages, ...options, ...model })).toHaveLength(2);
    const net = { compact_keep_last: 1, hard_limit_tokens: 100, compact_threshold: 100_000 };
    const [summary] = await ask<{ content: string }[]>("auto_compact", {
      messages,
      ...net,
      provider: "openai",
    });
    expect(summary?.content).toContain("cut short");
  });
});
