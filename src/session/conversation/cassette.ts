/** What the models and tools of a session answered, out of its records (contract.md, agent-runtime.md §16.3). Pure. */
import { callDigest } from "../../engine/agent/policy.ts";
import type { AgentRecord, ToolStatus } from "../../engine/agent/records.ts";
import { effects } from "../../engine/agent/state.ts";
import type { ToolCallBlock } from "../../engine/messages.ts";
import { mockOf } from "../../model/mock/of-turn.ts";
import type { SessionCassette } from "./rpc.ts";

export function cassetteOf(session_id: string, records: Iterable<AgentRecord>): SessionCassette {
  const made: SessionCassette = { session_id, mocks: [], tool_results: [] };
  let calls = new Map<string, ToolCallBlock>();
  const answered = (run_id: string, call: ToolCallBlock | undefined, status: ToolStatus, content: string) => {
    if (call === undefined) return;
    const { id, name } = call;
    const given = call.arguments ?? {};
    const arguments_digest = callDigest(name, given);
    const tool = { tool_call_id: id, name, arguments: given, arguments_digest };
    made.tool_results.push({ run_id, ...tool, status, content });
  };
  let iteration = 0;
  for (const record of records) {
    switch (record.type) {
      case "iteration_started":
        iteration = record.iteration;
        break;
      case "model_call_settled":
        made.mocks.push(mockOf(record.turn));
        break;
      case "tools_started":
        // With the arguments that hooks put in place.
        for (const { effect, call } of record.calls) calls.set(effect, call);
        break;
      case "turn_taken":
        calls = new Map(record.calls.map((call, n) => [effects.tool(iteration, n), call]));
        break;
      case "tool_settled":
        answered(record.run, calls.get(record.effect), record.result.status, record.result.content);
        break;
      case "client_tool_answered":
        answered(
          record.run,
          [...calls.values()].find(({ id }) => id === record.call_id),
          record.is_error ? "error" : "ok",
          record.content,
        );
        break;
      default:
        break;
    }
  }
  return made;
}
