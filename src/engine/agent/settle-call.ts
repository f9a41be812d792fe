/** How a run changes when one of its tool calls has its result. Pure. */

import { objectOf } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { withArtifacts } from "../artifact.ts";
import type { Message, ToolResultMessage } from "../messages.ts";
import { addSpent } from "../shares.ts";
import { isWorkspaceTool } from "../workspace-tools/definitions.ts";
import { plainResult } from "./call-results.ts";
import { shortenOutput } from "./compaction.ts";
import { counted, remarked } from "./loop-detection.ts";
import type { AgentRecord, AgentToolResult } from "./records.ts";
import { READ_SKILL_RESOURCE } from "./skill-resource.ts";
import { LOAD_SKILL } from "./skills.ts";
import type { AgentSpec } from "./spec.ts";
import type { AgentState, OpenCall, RunState } from "./state.ts";
import { LEDGER_TOOL } from "./task-ledger.ts";
import { interruptedCall } from "./texts.ts";

/** Settles one call. The last call of a turn puts all results into the history. @param exempt from loop detection */
export function settleCall(
  state: AgentState,
  run: RunState,
  effect: string,
  { artifacts = [], ...result }: AgentToolResult,
  exempt = false,
): AgentState {
  const index = run.calls.findIndex((call) => call.effect === effect);
  const open = run.calls[index];
  if (open === undefined || open.stage === "settled") return { ...state, run };
  const { name } = open.call;
  const args: JsonObject = open.call.arguments ?? {};
  // Instructions, slices of files and answers of workspace tools already have their intended length.
  const whole = name === LOAD_SKILL || name === READ_SKILL_RESOURCE || isWorkspaceTool(run.spec, name);
  const text = whole
    ? result.content
    : shortenOutput(result.content, run.spec.compaction.tool_output_max_chars);
  const executed = (open.stage === "started" || open.stage === "executed") && !exempt;
  const { loop_detect } = run.spec;
  const { table, count } = executed
    ? counted(run.loop, loop_detect, name, args, text)
    : { table: run.loop, count: null };
  const runtime = exempt && (name === LOAD_SKILL || name === LEDGER_TOOL);
  const own = runtime ? { runtime: true as const } : {};
  const settledCall = {
    ...open,
    stage: "settled" as const,
    result,
    shown: text,
    ...own,
    ...(count === null ? {} : { count }),
  };
  const calls = run.calls.with(index, settledCall);
  const last = calls.findLast(({ stage }) => stage !== "settled") === undefined;
  const settled: RunState = {
    ...run,
    calls,
    loop: table,
    ...(last ? toolLists({ ...run, calls }) : {}),
    verification: name === "run" && executed ? verified(result) : run.verification,
    ...(result.cwd === undefined ? {} : { cwd: result.cwd }),
    ...(result.spent === undefined ? {} : { delegated: addSpent(run.delegated, result.spent) }),
    ...withArtifacts(run.artifacts, artifacts),
  };
  if (!last) return { ...state, run: settled };
  const parts = calls.flatMap(({ result }) => result?.parts ?? []);
  const further: Message[] = parts.length === 0 ? [] : [{ role: "user", content: parts }];
  return {
    ...state,
    visible: [
      ...state.visible,
      { role: "tool", results: remarked(calls, loop_detect).map(resultMessage) },
      ...further,
    ],
    run: { ...settled, stage: "after" },
  };
}

/**
 * The run's lists of used tools with those of its turn, in the order of the turn's calls, whichever call ends first. The
 * state has them once the turn or the run ends.
 */
export function toolLists({
  calls,
  taken,
  ...run
}: RunState): Pick<RunState, "tools_used" | "successful_tools" | "rejected_tools"> {
  const { used, successful, rejected } = taken?.before ?? {};
  const settled = calls.filter(({ stage }) => stage === "settled");
  const ok = settled.filter(({ result, runtime }) => result?.status === "ok" && runtime !== true);
  const refused = settled.filter(({ result }) => result?.status === "rejected");
  return {
    tools_used: [...run.tools_used.slice(0, used), ...namesOf(settled)],
    successful_tools: distinct([...run.successful_tools.slice(0, successful), ...namesOf(ok)]),
    rejected_tools: distinct([...run.rejected_tools.slice(0, rejected), ...namesOf(refused)]),
  };
}

const namesOf = (calls: readonly OpenCall[]): string[] => calls.map(({ call }) => call.name);
const distinct = (names: readonly string[]): string[] => [...new Set(names)];

const resultMessage = ({ call, result, shown }: OpenCall): ToolResultMessage => ({
  call_id: call.id,
  name: call.name,
  content: shown,
  is_error: result?.status !== "ok",
});

/** Results for the calls that a run leaves open at its end: no provider accepts calls without results. */
export function brokenOff({ calls, spec }: RunState): Message[] {
  if (calls.every(({ stage }) => stage === "settled")) return [];
  const clients = clientTools(spec);
  const closed = calls.map((open): OpenCall => {
    const { stage, call, result, approval } = open;
    if (stage === "settled") return open;
    // A client sees a call only once it is approved.
    const asked = clients.has(call.name) && approval?.decision !== null;
    return { ...open, shown: result?.content ?? interruptedCall(stage === "started" || asked) };
  });
  return [{ role: "tool", results: remarked(closed, spec.loop_detect).map(resultMessage) }];
}

/** The result that a client's answer to a call becomes. */
export function clientResult({
  content,
  is_error,
}: Extract<AgentRecord, { type: "client_tool_answered" }>): AgentToolResult {
  return is_error ? plainResult("error", content, "tool_error") : plainResult("ok", content, null);
}

/** Names of the tools that only the client can execute. */
function clientTools({ tools }: AgentSpec): ReadonlySet<string> {
  return new Set(
    tools.flatMap(({ executor, definition }) => (executor === "client" ? [definition.name] : [])),
  );
}

/** Whether a verification passed: by its exit status, that of the process or of the result, else by its text. */
function verified({ exit_code, value, content, status }: AgentToolResult): RunState["verification"] {
  const ended = exit_code ?? objectOf(value).exit_code;
  if (typeof ended === "number") return { ok: ended === 0, exit_code: ended };
  const said = /\bexit_code=(\d+)/.exec(content)?.[1];
  if (said !== undefined) return { ok: said === "0", exit_code: Number(said) };
  return { ok: status === "ok" && /\bsuccess=true\b/.test(content), exit_code: null };
}
