/** Conversations for POST /transcripts/:operation, and a function that calls it. */
import { expect } from "vitest";
import type { Transcript } from "../../src/llm/transcript.ts";
import { Client } from "./served.ts";

export const client = new Client();
export const MOCK = { provider: "mock", model: "mock" };

/** The answer of an operation, which must have this status. */
export async function ask<T>(operation: string, body: object, status = 200): Promise<T> {
  const response = await client.post(`/transcripts/${operation}`, body);
  const answer = await response.json<T>();
  expect([operation, response.status, status === 200 ? null : answer]).toEqual([
    operation,
    status,
    status === 200 ? null : expect.anything(),
  ]);
  return answer;
}

export const transcriptOf = (messages: object[], metadata?: object) =>
  ask<Transcript>("from_messages", { messages, metadata: metadata ?? null });

export const TALK = [
  { role: "user", content: "one" },
  { role: "assistant", content: "two" },
  { role: "user", content: "three" },
  { role: "assistant", content: "four" },
];
export const TOOLS = [
  { role: "user", content: "look" },
  { role: "assistant", content: "", tool_calls: [{ id: "c1", name: "look", arguments: { a: 1 } }] },
  { role: "tool", tool_call_id: "c1", content: "found" },
];
