/** Decisions of people and answers of clients about the calls of a waiting run. */
import { firstWords } from "../../cut.ts";
import { clientCalls } from "../../engine/agent/calls.ts";
import type { OpenCall, RunState } from "../../engine/agent/state.ts";
import { textOfBlocks } from "../../engine/messages.ts";
import { CallNotFound } from "../../errors/llm.ts";
import { ApprovalClosed, ToolCallClosed } from "../../errors/session.ts";
import { resultText } from "../../llm/messages.ts";
import type { Json } from "../../skill/manifest.ts";
import type { AnsweredCall, ApprovalView, Decided, RunView } from "./answers.ts";
import type { Decision } from "./rpc.ts";
import type { Runs } from "./runs.ts";
import type { SessionLog } from "./session-log.ts";

/** Most characters of what the model said. */
const MAX_SAID = 4000;

type Approval = NonNullable<OpenCall["approval"]>;

/** The run under way, if it has reached its tools. */
function openRun(log: SessionLog): RunState | null {
  const { run } = log.state();
  return run === null || run.stage === "ended" ? null : run;
}

function openApprovals(log: SessionLog): Approval[] {
  const calls = openRun(log)?.calls ?? [];
  return calls.flatMap(({ approval, stage }) =>
    approval !== null && approval.decision === null && stage !== "settled" && approval.expires_at > log.now()
      ? [approval]
      : [],
  );
}

export function listApprovals(log: SessionLog): ApprovalView[] {
  const run_id = openRun(log)?.spec.run_id ?? "";
  const turn = log.state().visible.findLast(({ role }) => role === "assistant");
  const said = turn?.role === "assistant" ? firstWords(textOfBlocks(turn.content), MAX_SAID) : "";
  return openApprovals(log).map(({ id, tool_call_id, tool, arguments: args, ...approval }) => ({
    id,
    run_id,
    tool_call_id,
    tool,
    arguments: args,
    arguments_digest: approval.arguments_digest,
    risk: approval.risk,
    ...(approval.cause === undefined ? {} : { cause: approval.cause }),
    said,
    requested_at: new Date(approval.requested_at).toISOString(),
    expires_at: new Date(approval.expires_at).toISOString(),
  }));
}

/** Answers an approval, once. @throws CallNotFound ApprovalClosed */
export function decide(
  log: SessionLog,
  runs: Runs,
  { approval: id, decision, scope, reason, arguments_digest }: Decision,
): Decided {
  const approval = openApprovals(log).find((open) => open.id === id);
  const run = openRun(log)?.spec.run_id;
  if (approval === undefined || run === undefined) throw closed(log, id);
  if (arguments_digest !== null && arguments_digest !== approval.arguments_digest) {
    throw new ApprovalClosed({
      approval: id,
      reason: "arguments_digest is not that of the call's arguments",
    });
  }
  runs.receive([{ type: "approval_decided", run, approval: id, decision, scope, reason }], true);
  return { id, decision, run_id: run };
}

/** Why an approval cannot be decided: it is closed already, or never existed. */
function closed(log: SessionLog, id: string): Error {
  // The fold no longer has the approval. Its id names the run, so that run's records are read.
  const named = /^apr_(.+)_tool-\d+-\d+$/.exec(id)?.[1] ?? "";
  const row = log.store.runs.find(named);
  if (row !== null) {
    for (const record of log.store.runRecords(row)) {
      if (record.type === "approval_requested" && record.request.id === id) {
        return new ApprovalClosed({
          approval: id,
          reason: "it was decided before, has expired, or its run has ended",
        });
      }
    }
  }
  return new CallNotFound({ what: "approval", id });
}

/** The calls that the client must answer. */
export function awaitedCalls(log: SessionLog): NonNullable<RunView["awaiting"]> {
  if (openRun(log) === null) return [];
  return clientCalls(log.state(), log.now()).map(({ call }) => ({
    tool_call_id: call.id,
    name: call.name,
    arguments: call.arguments ?? {},
  }));
}

/** Accepts the client's answer to a call of the client's own tool. @throws CallNotFound ToolCallClosed */
export function answerCall(
  log: SessionLog,
  runs: Runs,
  { tool_call_id, content, is_error }: { tool_call_id: string; content: Json; is_error: boolean },
): AnsweredCall {
  const run = openRun(log);
  const awaited = awaitedCalls(log).some((call) => call.tool_call_id === tool_call_id);
  if (run === null || !awaited) {
    const known = run?.calls.some(({ call }) => call.id === tool_call_id) || wasCalled(log, tool_call_id);
    throw known
      ? new ToolCallClosed({ call: tool_call_id })
      : new CallNotFound({ what: "tool call", id: tool_call_id });
  }
  const { run_id } = run.spec;
  const text = resultText(content);
  runs.receive(
    [{ type: "client_tool_answered", run: run_id, call_id: tool_call_id, content: text, is_error }],
    true,
  );
  return { tool_call_id, run_id };
}

/** Whether the messages for the next model call contain this tool call. */
function wasCalled(log: SessionLog, id: string): boolean {
  return log
    .state()
    .visible.some(
      (message) =>
        message.role === "assistant" &&
        message.content.some((block) => block.type === "tool_call" && block.id === id),
    );
}
