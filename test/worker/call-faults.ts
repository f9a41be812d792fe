/** Requests that provoke the errors of mocks, replays and transcripts, by code. */
import { vi } from "vitest";
import { REPLAY_HEADER } from "../../src/model/proxy.ts";

type Ask = (path: string, body: object) => Promise<Response>;

/** @param proxied asks a Worker whose calls go through the proxy of `hull dev` */
export function callFaults(ask: Ask, proxied: Ask): Record<string, () => Promise<Response>> {
  return {
    operation_not_found: () => ask("/transcripts/shorten", {}),
    mocked_failure: () =>
      ask("/llm/call", { prompt: "hi", options: { mock: [{ error: { category: "egress_blocked" } }] } }),
    replay_missing: () => {
      const headers = { [REPLAY_HEADER]: "missing" };
      vi.stubGlobal("fetch", async () => new Response("no recording fits", { status: 502, headers }));
      return proxied("/llm/call", { prompt: "hi", options: { provider: "anthropic" } });
    },
  };
}
