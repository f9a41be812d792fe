/** Requests that provoke the errors of mocks, replays and transcripts, by code. */
import { vi } from "vitest";
import { REPLAY_HEADER } from "../../src/model/proxy.ts";

type Ask = (path: string, body: object) => Promise<Response>;

/**
 * @param proxied sends the request to a Worker whose calls go through the proxy of `hull dev`
 * @param limited sends the request to one with a policy that allows no tool
 */
export function callFaults(ask: Ask, proxied: Ask, limited: Ask): Record<string, () => Promise<Response>> {
  return {
    invalid_request: () => ask("/llm/call", { prompt: "hi", options: { response_format: "xml" } }),
    schema_validation: () => {
      const mock = [{ text: "no json" }];
      const asked = { json_schema: { type: "object" }, output_validation: "error", schema_retries: 0 };
      return ask("/llm/call", { prompt: "hi", options: { mock, ...asked } });
    },
    tool_rejected: () => limited("/runs", { prompt: "hi", options: { policy: { tools: ["edit"] } } }),
    operation_not_found: () => ask("/transcripts/shorten", {}),
    mocked_failure: () =>
      ask("/llm/call", { prompt: "hi", options: { mock: [{ error: { category: "tool_error" } }] } }),
    replay_missing: () => {
      const headers = { [REPLAY_HEADER]: "missing" };
      vi.stubGlobal("fetch", async () => new Response("no recording fits", { status: 502, headers }));
      return proxied("/llm/call", { prompt: "hi", options: { provider: "anthropic" } });
    },
  };
}
