/** POST /transcripts/:operation; what shortens is in transcripts-shorter.test.ts. */
import { describe, expect, it } from "vitest";
import type { Transcript } from "../../src/llm/transcript.ts";
import { TRANSCRIPT_OPERATIONS } from "../../src/llm/transcript-operations/operations.ts";
import { ask, client, TALK, TOOLS, transcriptOf } from "./conversations.ts";
import { Client, LOCAL, mockSkill } from "./served.ts";

const LISTED = { type: "tool_call", id: "a", name: "look", arguments: [], raw: "[]" };
const LISTED_PLACE = "messages.0.blocks.0.arguments";
const EMPTY = { _type: "transcript", version: 2, id: "t", messages: [], events: [], assets: [] };

describe("constructors and getters", () => {
  it("a new transcript is empty; one of messages has their events", async () => {
    const made = await ask<Transcript>("transcript", { metadata: { by: "me" } });
    expect(made).toEqual({
      _type: "transcript",
      version: 2,
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      messages: [],
      events: [],
      assets: [],
      metadata: { by: "me" },
    });
    const { events, messages } = await transcriptOf(TOOLS);
    expect(messages).toEqual(TOOLS);
    expect(events.map(({ kind, visibility }) => [kind, visibility])).toEqual([
      ["message", "public"],
      ["message", "public"],
      ["tool_result", "internal"],
    ]);
  });

  it("getters answer with the bare value, also if there is none", async () => {
    const summary = { ...(await transcriptOf(TALK)), summary: "short" };
    const expected: [string, unknown, unknown][] = [
      ["messages", TALK, []],
      ["events", summary.events, []],
      ["assets", [], []],
      ["summary", "short", null],
      ["id", summary.id, null],
    ];
    for (const [name, some, none] of expected) {
      expect([name, await ask(name, { transcript: summary })]).toEqual([name, some]);
      expect([name, await ask(name, { transcript: null })]).toEqual([name, none]);
    }
    const kinds = await ask<object[]>("events_by_kind", { messages: TOOLS, kind: "tool_result" });
    expect(kinds).toMatchObject([{ text: "found", metadata: { tool_call_id: "c1", is_error: false } }]);
    expect(await ask("events_by_kind", { kind: "message" })).toEqual([]);
  });

  it("stats count messages, calls, results and public events", async () => {
    const expected = {
      message_count: 3,
      user_facing_message_count: 2,
      tool_result_message_count: 1,
      tool_call_count: 1,
      assistant_message_count: 1,
      user_message_count: 1,
      visible_event_count: 2,
    };
    expect(await ask("stats", { transcript: await transcriptOf(TOOLS) })).toEqual(expected);
    expect(await ask("stats", { messages: TOOLS })).toEqual(expected);
    expect(await ask("stats", {})).toMatchObject({ message_count: 0, visible_event_count: 0 });
  });
});

describe("changes", () => {
  it("messages are appended to a list or to a transcript", async () => {
    const added: [string, object, object][] = [
      ["add_user", { content: "hi" }, { role: "user", content: "hi" }],
      ["add_assistant", { content: "yes" }, { role: "assistant", content: "yes" }],
      ["add_system", { content: "be brief" }, { role: "system", content: "be brief" }],
      [
        "add_tool_result",
        { tool_call_id: "c1", content: "ok", is_error: true },
        { role: "tool", tool_call_id: "c1", content: "ok", is_error: true },
      ],
    ];
    let transcript = await ask<Transcript>("transcript", {});
    for (const [name, options, message] of added) {
      expect(await ask(name, { messages: TALK, ...options })).toEqual([...TALK, message]);
      transcript = await ask<Transcript>(name, { transcript, ...options });
    }
    expect(transcript.messages).toEqual(added.map(([, , message]) => message));
    expect(transcript.events.map(({ kind }) => kind)).toEqual([...Array(3).fill("message"), "tool_result"]);
    const { assets } = await ask<Transcript>("add_asset", {
      transcript,
      asset: { kind: "note", data: { a: 1 } },
    });
    expect(assets).toEqual([
      {
        _type: "transcript_asset",
        id: expect.any(String),
        kind: "note",
        storage: "inline",
        visibility: "internal",
        data: { a: 1 },
        metadata: {},
      },
    ]);
  });

  it("fork has an id of its own and names its parent; reset, archive, abandon and resume say their states", async () => {
    const source = { ...(await transcriptOf(TALK, { by: "me" })), summary: "short", assets: [{ id: "a" }] };
    const fork = await ask<Transcript>("fork", { transcript: source });
    expect(fork).toMatchObject({
      messages: TALK,
      summary: "short",
      assets: [{ id: "a" }],
      state: "forked",
      metadata: { by: "me", parent_id: source.id },
    });
    expect(fork.id).not.toBe(source.id);
    expect(fork.events.map(({ kind }) => kind)).toEqual([...Array(4).fill("message"), "transcript_fork"]);
    const bare = await ask<Transcript>("fork", {
      transcript: source,
      retain_messages: false,
      retain_summary: false,
    });
    expect([bare.messages, bare.summary, bare.events.length]).toEqual([[], undefined, 1]);
    for (const [name, state] of [
      ["archive", "archived"],
      ["abandon", "abandoned"],
      ["resume", "active"],
    ] as const) {
      const moved = await ask<Transcript>(name, { transcript: source });
      expect([moved.id, moved.state]).toEqual([source.id, state]);
      expect(moved.events.at(-1)).toMatchObject({ kind: `transcript_${name}`, visibility: "internal" });
    }
    const reset = await ask<Transcript>("reset", { metadata: { by: "me" } });
    expect(reset).toMatchObject({ messages: [], state: "active", metadata: { by: "me" } });
    expect(reset.events.map(({ kind }) => kind)).toEqual(["transcript_reset"]);
  });

  it("an export can be imported", async () => {
    const source = await transcriptOf(TOOLS, { deep: [1, { a: null }] });
    const text = await ask<string>("export", { transcript: source });
    expect(await ask("import", { transcript: text })).toEqual(source);
    const nested = `${JSON.stringify(source).slice(0, -1)},"metadata":{"deep":${"[".repeat(20_000)}${"]".repeat(20_000)}}}`;
    for (const transcript of ["{", nested])
      expect(await ask("import", { transcript }, 422)).toMatchObject({ errors: [{ path: "transcript" }] });
    const broken = JSON.stringify({ ...source, version: 1 });
    expect(await ask("import", { transcript: broken }, 422)).toMatchObject({
      errors: [{ path: "transcript.version" }],
    });
  });

  it("render_visible shows neither tools nor reasoning, render_full both", async () => {
    const transcript = await transcriptOf([...TOOLS, { role: "assistant", content: "done" }]);
    const event = { role: "assistant", blocks: [] };
    transcript.events.push(
      { ...event, id: "e1", kind: "private_reasoning", visibility: "private", text: "hm" },
      { ...event, id: "e2", kind: "provider_payload", visibility: "internal", text: "" },
    );
    expect(await ask("render_visible", { transcript })).toBe("user: look\nassistant: done");
    expect(await ask("render_visible", {})).toBe("");
    expect((await ask<string>("render_full", { transcript })).split("\n")).toEqual([
      "[public] user: look",
      '[public] assistant: (calls look with {"a":1})',
      "[internal] tool: found",
      "[public] assistant: done",
      "[private] assistant: hm",
      "[internal] assistant: (provider_payload)",
    ]);
  });
});

describe("what is refused", () => {
  it.each<[string, object, number, string, RegExp]>([
    ["stats", { mesages: [] }, 422, "mesages", /did you mean "messages"/],
    ["stats", { messages: "x" }, 422, "messages", /expected array, received string; got "x"/],
    ["stats", { messages: [{ role: "user", content: 1 }] }, 422, "messages.0.content", /got 1/],
    ["stats", { messages: [{ role: "user", text: "x" }] }, 422, "messages.0.text", /no such field/],
    [
      "stats",
      { messages: [{ role: "assistant", blocks: [LISTED] }] },
      422,
      LISTED_PLACE,
      /an object; got \[\]/,
    ],
    ["messages", { messages: [], transcript: { id: "x" } }, 422, "transcript._type", /transcript/],
    ["reset", { transcript: {} }, 422, "transcript", /no option/],
    ["fork", {}, 422, "transcript", /needed/],
    ["summarize", { messages: [], session_id: "s" }, 422, "session_id", /no option/],
    ["add_user", { content: "x" }, 422, "transcript", /needed/],
    ["stats", { transcript: EMPTY, messages: [] }, 422, "messages", /not both/],
    ["add_user", { messages: [], content: 1 }, 422, "content", /content/],
    ["add_user", { messages: [] }, 422, "content", /required/],
    ["add_system", { messages: [], content: null }, 422, "content", /required/],
    ["add_tool_result", { messages: [] }, 422, "tool_call_id", /tool_call_id/],
    ["auto_compact", { messages: [], keep_lst: 1 }, 422, "keep_lst", /keep_last|keep_first/],
    ["auto_compact", { messages: [], compact_keep_last: -1 }, 422, "compact_keep_last", /got -1/],
    ["auto_compact", { messages: [], temprature: 1 }, 422, "temprature", /temperature/],
    ["auto_compact", { messages: [], max_tokens: "many" }, 422, "max_tokens", /^max_tokens: .*many/],
    ["auto_compact", { messages: [], compact_callback: "x" }, 422, "compact_callback", /no option/],
  ])("%s %j", async (operation, body, status, path, message) => {
    const answer = await ask<{ code: string; errors: { path: string; message: string }[] }>(
      operation,
      body,
      status,
    );
    expect(answer.code).toBe("input_invalid");
    expect(answer.errors.map((error) => error.path)).toContain(path);
    expect(answer.errors.find((error) => error.path === path)?.message).toMatch(message);
  });

  it("custom strategies, since they need a hook", async () => {
    const transcript = await transcriptOf(TALK);
    const refused = await ask("compact", { transcript, strategy: "custom" }, 400);
    expect(refused).toMatchObject({ code: "invalid_request", option: "strategy" });
    await ask("auto_compact", { messages: TALK, compact_strategy: "custom" }, 400);
    await ask("compact", { transcript, strategy: "best" }, 422);
  });

  it("none of the names that the typed functions have", async () => {
    expect(await ask("transcript_messages", { messages: TALK })).toEqual(TALK);
    expect(await ask("transcript_add_user", { messages: [], content: "x" })).toHaveLength(1);
  });

  it("unknown operations, with near names; a provider without a key; bodies over 32 MiB", async () => {
    const unknown = await ask("transcript_compct", {}, 404);
    expect(unknown).toMatchObject({ code: "operation_not_found", near: ["compact"] });
    await ask("constructor", {}, 404);
    const transcript = await transcriptOf(TALK);
    const keyless = await ask("summarize", { transcript, provider: "openai", model: "gpt-4o" }, 503);
    expect(keyless).toMatchObject({ code: "provider_not_configured" });
    const headers = { "content-type": "application/json", "content-length": String(33 * 1024 * 1024) };
    const large = await client.fetch("/transcripts/stats", { method: "POST", headers, body: "{}" });
    expect(large.status).toBe(413);
  });

  it("callers without a key, if there are keys", async () => {
    const keyed = new Client({ HULL_ADMIN_KEY: "hull-admin-canary-0123456789" });
    expect((await keyed.post("/transcripts/stats", {})).status).toBe(401);
  });
});

it("provider keys are cut out", async () => {
  const key = "sk-canary-0123456789abcdef";
  const keyed = new Client({ ...LOCAL, OPENAI_API_KEY: key });
  const answer = await keyed.post("/transcripts/add_user", { messages: [], content: `my ${key}` });
  expect([answer.status, (await answer.text()).includes(key)]).toEqual([200, false]);
});

it("openapi.json names every operation", async () => {
  const documented = new Client(LOCAL, { documents: true });
  await documented.publish({ cat: mockSkill("cat") });
  const document = await (await documented.fetch("/openapi.json")).json<{
    paths: Record<string, { post: { parameters: { schema: { enum: string[] } }[] } }>;
  }>();
  const [parameter] = document.paths["/transcripts/{operation}"]?.post.parameters ?? [];
  expect(parameter?.schema.enum.toSorted()).toEqual(Array.from(TRANSCRIPT_OPERATIONS.keys()).toSorted());
});
