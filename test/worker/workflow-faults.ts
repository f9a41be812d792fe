/** Requests that provoke the errors of workflows, by code. */

import { type Ask, posting } from "./fault-requests.ts";

export function workflowFaults(ask: Ask): Record<string, () => Promise<Response>> {
  const post = posting(ask);
  const execute = async (nodes: object, more: object = {}): Promise<{ id: string; status: string }> => {
    const response = await post("/workflows/execute?wait=none", { task: "t", graph: { nodes }, ...more });
    return (await response.json<{ run: { id: string; status: string } }>()).run;
  };
  const FORK = { kind: "escalation" };
  return {
    workflow_invalid: () =>
      post("/workflows/execute", { task: "t", graph: { nodes: { f: { kind: "fork" } } } }),
    workflow_ended: async () => post(`/workflows/runs/${(await execute({ e: FORK })).id}/pause`, {}),
    workflow_running: async () => {
      const graph = { nodes: { w: { kind: "wait", wait: { event: "never" } } } };
      const { id: resume_run } = await execute(graph.nodes);
      return post("/workflows/execute", { task: "t", graph, options: { resume_run } });
    },
    workflow_misfit: async () => {
      const { id } = await execute({ w: { kind: "wait", wait: { event: "never" } } });
      return post(`/workflows/runs/${id}/migrate`, { graph: { nodes: { e: FORK } } });
    },
    workflow_not_waiting: async () => {
      const { id } = await execute({ w: { kind: "wait", wait: { event: "never" } } });
      return post(`/workflows/runs/${id}/approvals`, { node: "w", decision: "approve" });
    },
    workflow_queue_full: async () => {
      const { id } = await execute({ w: { kind: "wait", wait: { event: "never" } } });
      const send = () =>
        post(`/workflows/runs/${id}/signals`, { name: "early", payload: "x".repeat(1_000_000) });
      for (let sent = 0; sent < 8; sent++) await send();
      return send();
    },
    replay_mismatch: async () => {
      const { id } = await execute({ e: FORK });
      const graph = { nodes: { v: { kind: "verify" } } };
      return post("/workflows/execute", { task: "t", graph, options: { replay_run: id } });
    },
  };
}
