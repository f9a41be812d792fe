/** What hooks are given and may answer. */
import { expect, test } from "vitest";
import type { AgentRecord } from "../../../../src/engine/agent/records.ts";
import type { HookPurpose } from "../../../../src/engine/agent/step.ts";
import { hookAnswer, hookPayload, RecordedMessages } from "../../../../src/run/agent/hook-exchange.ts";
import { objectOf } from "../../../../src/skill/json.ts";
import type { Json } from "../../../../src/skill/manifest.ts";

const step = (purpose: HookPurpose, payload: Json = null) => ({
  type: "call_hook" as const,
  effect: "e",
  hook: "mine",
  purpose,
  payload,
});
const canonical = (text: string) => ({ role: "user" as const, content: [{ type: "text" as const, text }] });
const recordsOf = (records: readonly AgentRecord[]) =>
  new RecordedMessages({ records: (after) => records.slice(after), lastRecord: () => records.length });

test.each<[HookPurpose, Json[], Json[]]>([
  [
    "context",
    [null, [], [{ role: "user", content: "x" }], { system: "s" }, {}],
    [7, "x", true, [7], { messages: 1 }],
  ],
  ["post_turn", [null, "go on", "", true, { message: "m" }, { stop: true }], [7, [], { halt: true }]],
  ["compact", ["text", { summary: "text" }], [null, 7, {}]],
  ["mask", [null, ["a", null]], ["text", [7]]],
  ["compress", [null, "shorter"], [7, {}]],
  ["permission", [true, false, null], ["yes", 1]],
  ["escalation", [true, false, null, "once", "session", { grant: "once", reason: "r" }], ["always", {}, 1]],
  ["pre_tool", [null, { deny: "r" }, { args: { a: 1 } }], [true, { args: 1 }, {}, "no"]],
  ["post_tool", [null, "text", { content: "c", status: "error" }], [7, { status: "done" }]],
  ["skill", [null, 7, "x"], []],
])("%s: what may and may not be answered", (purpose, good, bad) => {
  for (const answer of good) expect(() => hookAnswer(step(purpose), answer)).not.toThrow();
  for (const answer of bad) {
    expect(() => hookAnswer(step(purpose), answer)).toThrow(
      expect.objectContaining({ code: "hook_invalid", message: expect.stringContaining("mine") }),
    );
  }
});

test("a context hook answers messages as requests hold them; system messages go to the system text", () => {
  const answer = [
    { role: "system", content: "Be kind." },
    { role: "user", content: "hi" },
  ];
  expect(hookAnswer(step("context"), answer)).toEqual({ messages: [canonical("hi")], system: "Be kind." });
});

test("a context hook sees compacted messages among the recorded ones only", () => {
  const payload = {
    messages: [canonical("[summary]")],
    compacted: true,
    latest_tool_result: null,
    system: "s",
  };
  const records: AgentRecord[] = ["one", "two"].map((text) => ({
    v: 1,
    at: 0,
    type: "message_added",
    source: "inject",
    message: canonical(text),
  }));
  const given = hookPayload(step("context", JSON.parse(JSON.stringify(payload))), recordsOf(records));
  expect(given).toMatchObject({
    system: "s",
    messages: [{ role: "user", content: "[summary]" }],
    recorded_messages: [{ content: "one" }, { content: "two" }],
    recent_recorded_messages: [{ content: "one" }, { content: "two" }],
  });
  expect(given).not.toHaveProperty("compacted");
  const asked = hookPayload(step("mask", JSON.parse(JSON.stringify([canonical("x")]))), recordsOf([]));
  expect(asked).toEqual([{ role: "user", content: "x" }]);
});

test("a context hook gets the latest text of each role, visible and recorded", () => {
  const said = { role: "assistant" as const, content: [{ type: "output_text" as const, text: "hello" }] };
  const called = { role: "assistant" as const, content: [] };
  const seen = [canonical("hi"), said, canonical("more"), called];
  const payload = { messages: seen, compacted: true, latest_tool_result: null, system: "", iteration: 0 };
  const result = { call_id: "c", name: "look", content: "found", is_error: false };
  const records: AgentRecord[] = [canonical("first"), { role: "tool" as const, results: [result] }].map(
    (message) => ({ v: 1, at: 0, type: "message_added", source: "inject", message }),
  );
  const given = hookPayload(step("context", JSON.parse(JSON.stringify(payload))), recordsOf(records));
  expect(given).toMatchObject({
    latest_visible_user_message: "more",
    latest_visible_assistant_message: "hello",
    latest_tool_result: null,
    latest_recorded_user_message: "first",
    latest_recorded_assistant_message: null,
    latest_recorded_tool_result: "found",
  });
});

test("the recorded messages are read once, however often a model is called; a reset voids them", () => {
  const said = (text: string): AgentRecord => ({
    v: 1,
    at: 0,
    type: "message_added",
    source: "inject",
    message: canonical(text),
  });
  const records = [said("one"), said("two")];
  const read: AgentRecord[] = [];
  const recorded = new RecordedMessages({
    *records(after = 0) {
      for (const record of records.slice(after)) {
        read.push(record);
        yield record;
      }
    },
    lastRecord: () => records.length,
  });
  const texts = () => recorded.all().map((message) => objectOf(message).content);
  expect(texts()).toEqual(["one", "two"]);
  records.push(said("three"));
  expect(texts()).toEqual(["one", "two", "three"]);
  expect(texts()).toHaveLength(3);
  expect(read).toEqual(records);
  records.push({ v: 1, at: 0, type: "session_reset" }, said("four"));
  expect(texts()).toEqual(["four"]);
});
