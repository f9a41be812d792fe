/** Requests that provoke the errors of sessions, by code. */
import { runInDurableObject } from "cloudflare:test";
import { sessionObject } from "../../src/run/session-client.ts";
import { type Ask, posting } from "./fault-requests.ts";
import { bindings } from "./file-bindings.ts";

export function sessionFaults(ask: Ask): Record<string, () => Promise<Response>> {
  const post = posting(ask);
  const put = (path: string, headers: Record<string, string>) =>
    ask(path, { method: "PUT", body: "x", headers });
  /** A new session whose run waits for its client, or for an approval. */
  const waitingRun = async (id: string, more: object = {}) => {
    await post("/sessions", { id });
    const tools = [{ name: "look", description: "Looks." }];
    const options = { tools, mock: [{ tool_calls: [{ name: "look" }] }], ...more };
    const response = await post(`/sessions/${id}/runs`, { prompt: "hi", options });
    return response.json<{ run_id: string; awaiting?: { tool_call_id: string }[] }>();
  };
  return {
    run_in_progress: async () => {
      await waitingRun("busy");
      return post("/sessions/busy/reset", {});
    },
    session_not_active: async () => {
      await post("/sessions", { id: "shut" });
      await post("/sessions/shut/close", {});
      return post("/sessions/shut/messages", { content: "hi" });
    },
    session_exists: async () => {
      await post("/sessions", { id: "here" });
      return post("/sessions/here/fork", { dst: "here" });
    },
    approval_closed: async () => {
      const { run_id } = await waitingRun("asks", { approval_policy: { require_approval: ["look"] } });
      await post(`/sessions/asks/runs/${run_id}/cancel`, {});
      return post(`/sessions/asks/approvals/apr_${run_id}_tool-0-0`, { decision: "deny" });
    },
    tool_call_closed: async () => {
      const { awaiting } = await waitingRun("told");
      const answer = { tool_call_id: awaiting?.[0]?.tool_call_id, content: "x" };
      await post("/sessions/told/tool-results", answer);
      return post("/sessions/told/tool-results", answer);
    },
    bad_path: async () => {
      await post("/sessions", { id: "files" });
      return put("/sessions/files/files/a%2F..%2Fb", {});
    },
    precondition_failed: async () => {
      await post("/sessions", { id: "files" });
      return put("/sessions/files/files/none", { "if-match": "*" });
    },
    workspace_full: async () => {
      await post("/sessions", { id: "full" });
      await put("/sessions/full/files/a", {});
      const object = sessionObject({ env: bindings, tenant: "default" }, "full");
      await runInDurableObject(object, (_, { storage }) => {
        storage.sql.exec("UPDATE workspace SET files = 10000");
      });
      return put("/sessions/full/files/b", {});
    },
  };
}
