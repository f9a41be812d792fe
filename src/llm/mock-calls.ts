/** The requests to mocks, as callers see them: `mock_calls` of a result, `GET /llm/mocks/calls`. */
import type { MockCall } from "../model/mock/mock.ts";
import { messageJson } from "./messages.ts";

/** The most requests in a result, and the most characters of their JSON: each repeats the conversation before it. */
const MOST = 1000;
const MAX_LENGTH = 8 * 1024 * 1024;

export const mockCallJson = ({ messages, ...call }: MockCall) => ({
  messages: messages.flatMap(messageJson),
  ...call,
});

/** The members of a result for these requests, which are in order. */
export function mockCallMembers(calls: readonly MockCall[]) {
  const shown: ReturnType<typeof mockCallJson>[] = [];
  let length = 0;
  for (const call of calls.toReversed()) {
    const json = mockCallJson(call);
    length += JSON.stringify(json).length;
    if (shown.length === MOST || length > MAX_LENGTH) break;
    shown.push(json);
  }
  const left = calls.length - shown.length;
  return { mock_calls: shown.reverse(), ...(left === 0 ? {} : { mock_calls_left_out: left }) };
}
