/** Events of runs: their shape, and their form on the wire. */

/** One event of the shared vocabulary. */
export interface RunEvent {
  event:
    | "start"
    | "delta"
    | "thought"
    | "stderr"
    | "tool_call"
    | "tool_output"
    | "tool_result"
    | "round"
    | "artifact"
    | "approval_request"
    | "skill_matched"
    | "skill_activated"
    | "skill_deactivated"
    | "skill_scope_tools"
    | "skill_mcp_bound"
    | "skill_mcp_unbound"
    | "skill_mcp_bind_failed"
    | "tool_search_query"
    | "tool_search_result"
    | "feedback_injected"
    | "transcript_compacted"
    | "daemon_wake"
    | "task_update"
    | "error"
    | "done";
  data: Record<string, unknown>;
}

/** Silence in ms after which a comment keeps a connection alive. */
export const HEARTBEAT_MS = 15_000;
export const HEARTBEAT = ": hb\n\n";

/** One server-sent event; `seq` counts the events of a run from 1. */
export function formatEvent(runId: string, seq: number, name: string, data: unknown): string {
  return `id: ${runId}:${seq}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
