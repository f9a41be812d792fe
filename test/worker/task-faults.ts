/** Requests that provoke the errors of tasks, by code. */

import { Deployment } from "../../src/deployment.ts";

import { detachedContext } from "../../src/run/context.ts";
import { sessionClient } from "../../src/run/session-client.ts";
import { type Ask, posting } from "./fault-requests.ts";
import { bindings } from "./file-bindings.ts";

const NODE = { model_policy: { provider: "mock" } };
const ASK = { name: "ask", description: "Asks a person.", parameters: { q: { type: "string" } } };

export function taskFaults(ask: Ask): Record<string, () => Promise<Response>> {
  const post = posting(ask);
  const spawn = async (more: object): Promise<string> => {
    const response = await post("/tasks", { task: "Wait.", node: NODE, ...more });
    return (await response.json<{ id: string }>()).id;
  };
  const resting = {
    node: { ...NODE, tools: [ASK] },
    options: { mock: [{ tool_calls: [{ name: "ask", arguments: { q: "?" } }] }] },
  };
  return {
    task_running: async () => post(`/tasks/${await spawn(resting)}/input`, { task: "More." }),
    task_not_awaiting: async () => post(`/tasks/${await spawn({ wait: true })}/trigger`, {}),
    task_closed: async () => {
      const id = await spawn({ wait: true });
      await post(`/tasks/${id}/close`, {});
      return post(`/tasks/${id}/input`, { task: "More." });
    },
    too_many_delegated: async () => {
      await post("/sessions", { id: "crowded" });
      const deployment = new Deployment(bindings);
      const origin = { requestId: "r", tenant: "default", startedAt: 0 };
      const session = sessionClient(
        detachedContext(deployment, origin, () => {}),
        "crowded",
      );
      for (let n = 0; n < 64; n += 1) await session.ask("delegate", { child: `child-${n}`, run_id: null });
      return post("/tasks", { task: "One more.", node: NODE, parent_session_id: "crowded" });
    },
  };
}
