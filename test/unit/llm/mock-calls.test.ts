/** How many requests to mocks a result lists. */
import { expect, it } from "vitest";
import { mockCallMembers } from "../../../src/llm/mock-calls.ts";
import type { MockCall } from "../../../src/model/mock/mock.ts";

const call = (system: string, text = "x"): MockCall => ({
  messages: [{ role: "user", content: [{ type: "text", text }] }],
  system,
  tools: [],
});
const many = (n: number, text?: string) => Array.from({ length: n }, (_, i) => call(`s${i}`, text));

it("lists the last 1000, and counts the earlier ones", () => {
  expect(mockCallMembers(many(2))).toEqual({
    mock_calls: [expect.objectContaining({ system: "s0" }), expect.objectContaining({ system: "s1" })],
  });
  const { mock_calls: listed = [], mock_calls_left_out } = mockCallMembers(many(1003));
  expect([listed.length, listed[0]?.system, listed.at(-1)?.system]).toEqual([1000, "s3", "s1002"]);
  expect(mock_calls_left_out).toBe(3);
});

it("lists at most 8 MiB", () => {
  const { mock_calls: listed = [], mock_calls_left_out } = mockCallMembers(
    many(5, "x".repeat(3 * 1024 * 1024)),
  );
  expect([listed.map(({ system }) => system), mock_calls_left_out]).toEqual([["s3", "s4"], 3]);
});
