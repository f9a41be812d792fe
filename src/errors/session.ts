/** Errors of sessions and of the runs in them. */
import { define } from "../errors.ts";

// 409
/** `run`: `null` while something other than a run changes the conversation, such as a compaction. */
export const RunInProgress = define<{ session: string; run: string | null }>("run_in_progress", 409, (d) => ({
  detail:
    d.run === null
      ? `The conversation of session "${d.session}" is being compacted or changed. Send the request again in a moment.`
      : `Session "${d.session}" has a run under way; one runs at a time. Wait for it, send it a message, or cancel it.`,
  members: d.run === null ? {} : { run_id: d.run },
}));
export const SessionNotActive = define<{ session: string; state: string }>(
  "session_not_active",
  409,
  (d) => ({
    detail: `Session "${d.session}" is ${d.state}. POST /sessions/${d.session}/resume makes it active again.`,
    members: { state: d.state },
  }),
);
export const SessionExists = define<{ session: string }>("session_exists", 409, (d) => ({
  detail: `There is a session "${d.session}" already. Choose another id.`,
}));
export const ApprovalClosed = define<{ approval: string; reason: string }>("approval_closed", 409, (d) => ({
  title: "Approval not open",
  detail: `Hull cannot apply the decision about approval "${d.approval}": ${d.reason}.`,
}));
export const ToolCallClosed = define<{ call: string }>("tool_call_closed", 409, (d) => ({
  title: "Tool call not open",
  detail: `No run waits for a result of the tool call "${d.call}".`,
  members: { tool_call_id: d.call },
}));

// 499: as a run's error, and for callers that wait for it
export const RunCancelled = define<{ run: string }>("run_cancelled", 499, (d) => ({
  detail: `Run "${d.run}" was cancelled.`,
  members: { run_id: d.run, kind: "terminal", reason: "cancelled", category: "cancelled" },
}));

// 502
export const RunLost = define<{ run: string; detail?: string }>("run_lost", 502, (d) => ({
  detail:
    d.detail ??
    `Hull gave up on run "${d.run}": its process died repeatedly without progress, or its records cannot be read.`,
  members: { run_id: d.run, kind: "terminal", reason: "unknown", category: "generic" },
}));
