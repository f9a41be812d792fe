/** The requests to mocks, as callers see them: `mock_calls` of a result, `GET /llm/mocks/calls`. */
import type { MockCall } from "../model/mock/mock.ts";
import { messageJson } from "./messages.ts";

export const mockCallJson = ({ messages, ...call }: MockCall) => ({
  messages: messages.flatMap(messageJson),
  ...call,
});
