/** Requests that provoke the errors of daemons, by code. */

import { type Ask, posting } from "./fault-requests.ts";

/** @param secret_env a variable that is set */
export function daemonFaults(ask: Ask, secret_env: string): Record<string, () => Promise<Response>> {
  const post = posting(ask);
  const spawn = async (more: object): Promise<string> => {
    const response = await post("/daemons", { task: "Wait.", provider: "mock", ...more });
    return (await response.json<{ id: string }>()).id;
  };
  return {
    webhook_refused: async () => {
      const id = await spawn({ webhook: { secret_env, header: "x-signature" } });
      return post(`/daemons/${id}/events`, { n: 1 }, { "x-signature": "0".repeat(64) });
    },
    daemon_not_running: async () => {
      const id = await spawn({});
      await post(`/daemons/${id}/stop`, {});
      return post(`/daemons/${id}/events`, { n: 1 });
    },
    daemon_running: async () => post(`/daemons/${await spawn({})}/resume`, {}),
    daemon_path_taken: async () => {
      await spawn({ persist_path: "state/taken" });
      return post("/daemons", { task: "Wait.", provider: "mock", persist_path: "state/taken" });
    },
    daemon_queue_full: async () => {
      // The event that is being handled waits for an approval.
      const mock = [{ text: "ready" }, { tool_calls: [{ name: "look" }] }];
      const approval_policy = { require_approval: ["look"] };
      const id = await spawn({ skill: "tools", queue_capacity: 1, mock, approval_policy });
      await post(`/daemons/${id}/events`, { n: 1 });
      return post(`/daemons/${id}/events`, { n: 2 });
    },
  };
}
