/** A task's last run, of either kind: an agent run of its session, or a workflow run in it. */
import { firstWords } from "../../cut.ts";
import { spentBy } from "../../engine/agent/spent.ts";
import { termsOf } from "../../engine/run-status.ts";
import { addSpent, costIn, type Spent } from "../../engine/shares.ts";
import type { StageError } from "../../engine/workflow/answers.ts";
import { artifactOf, type WorkflowArtifact } from "../../engine/workflow/artifacts.ts";
import { statusOf } from "../../engine/workflow/document.ts";
import { totalOutcomes, type WorkflowState } from "../../engine/workflow/state.ts";
import { DeadlineExceeded } from "../../errors/run.ts";
import { RunCancelled, RunLost } from "../../errors/session.ts";
import { ReplayMismatch } from "../../errors/workflow.ts";
import { type HullError, toProblem } from "../../errors.ts";
import { asJson } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { Conversation } from "../conversation/conversation.ts";
import { readEnd } from "../conversation/done.ts";
import type { RunRow } from "../conversation/run-rows.ts";
import type { TaskRow } from "./store.ts";

/** The most characters of an artifact that holds a run's answer. */
const MAX_ARTIFACT = 64 * 1024;

export interface Work {
  id: string;
  /** The path of the run's record. */
  path: string;
  /** Unix ms. */
  created_at: number;
  /** `null`: it has not ended. */
  settled_at: number | null;
  how: "running" | "resting" | "done" | "failed" | "lost" | "cancelled";
  result: JsonObject | undefined;
  /** The problem document of its failure. */
  error: JsonObject | undefined;
  /** What the run produced for later runs. */
  artifacts: WorkflowArtifact[];
  has_transcript: boolean;
  /** Tools that the request asked for and did not get. */
  dropped: string[] | undefined;
  /** Usage including all runs below it. */
  spent: Spent;
  request_id: string;
}

/** The work of an agent run. */
export function agentWork({ log }: Conversation, session: string, row: TaskRow, run: RunRow): Work {
  const { run: state, visible } = log.state();
  const { result, error } = readEnd(log.store, run);
  return {
    id: run.id,
    path: `/sessions/${session}/runs/${run.id}`,
    created_at: run.created_at,
    settled_at: run.settled_at,
    how: agentHow(run, error),
    result,
    error,
    artifacts: answerOf(row, run, result, error),
    has_transcript: visible.length > 0,
    dropped: state?.spec.policies.dropped,
    spent: state === null ? { tokens: 0, cost_usd: 0 } : spentBy(state),
    request_id: run.request_id,
  };
}

function agentHow({ status, settled_at }: RunRow, error: JsonObject | undefined): Work["how"] {
  if (settled_at === null) return status === "running" ? "running" : "resting";
  return howEnded({ status, code: error?.code });
}

/** How an agent run has ended. @param code of its error */
export function howEnded({ status, code }: { status: RunRow["status"]; code?: unknown }): Work["how"] {
  return status === "error" && code === "run_lost" ? "lost" : (termsOf(status).outcome ?? "done");
}

/** The artifact that holds a run's answer, if it has one. */
function answerOf(
  { settings, artifacts }: TaskRow,
  run: RunRow,
  result: JsonObject | undefined,
  error: JsonObject | undefined,
): WorkflowArtifact[] {
  const text = result?.visible_text;
  if (error !== undefined || typeof text !== "string" || text === "") return [];
  const { stage, name } = settings;
  const now = new Date(run.settled_at ?? run.created_at).toISOString();
  const given = { kind: stage?.output_kind ?? "artifact", title: name, text: firstWords(text, MAX_ARTIFACT) };
  const lineage = artifacts.map(({ id }) => id);
  return [artifactOf({ ...given, source: run.id, lineage }, { newId: () => `${run.id}:answer`, now })];
}

/** The work of a workflow run. */
export function workflowWork(state: WorkflowState, session: string, request_id: string): Work {
  const { spec, began, finished } = state;
  const own = state.stages.filter(({ id }) => id.startsWith(`${spec.run_id}:`));
  const usage = totalOutcomes([...own, ...state.compensations]);
  const { input_tokens, output_tokens, total_cost: cost_usd } = usage;
  const used = { tokens: input_tokens + output_tokens, ...costIn({ ...usage, cost_usd }) };
  const given = new Set(spec.artifacts.map(({ id }) => id));
  const error = finished?.error ?? null;
  return {
    id: spec.run_id,
    path: `/workflows/runs/${session}`,
    created_at: began,
    settled_at: finished?.at ?? null,
    how: workflowHow(state),
    result: finished === null ? undefined : workflowResult(state),
    error: error === null ? undefined : problem(endOf(error, state), request_id),
    artifacts: state.artifacts.filter(({ id }) => !given.has(id)),
    has_transcript: state.stages.some(({ transcript }) => transcript !== null),
    dropped: undefined,
    spent: addSpent(state.delegated, used),
    request_id,
  };
}

function workflowHow(state: WorkflowState): Work["how"] {
  switch (statusOf(state)) {
    case "running":
      return "running";
    case "waiting":
      return "resting";
    case "paused":
      return state.finished === null ? "resting" : "done";
    case "completed":
      return "done";
    case "cancelled":
      return "cancelled";
    default:
      return state.finished?.error?.code === "run_lost" ? "lost" : "failed";
  }
}

/** The members of a workflow run that its task shows; the rest is in the run's record. */
function workflowResult({ spec, stages, artifacts, finished }: WorkflowState): JsonObject {
  const last = stages.findLast(({ visible_text }) => visible_text !== "");
  const result = {
    status: finished?.status ?? "running",
    workflow_name: spec.workflow?.name ?? spec.graph.name,
    visible_text: last?.visible_text ?? "",
    stages: stages.map(({ id, node_id, kind, status, outcome, branch }) => ({
      id,
      node_id,
      kind,
      status,
      outcome,
      branch,
    })),
    failed_stages: stages.filter(({ status }) => status === "failed").map(({ id }) => id),
    artifacts,
    usage: totalOutcomes(stages),
  };
  return asJson(result);
}

/** The error of a workflow run that stopped early. */
function endOf({ code, message }: StageError, { spec, began }: WorkflowState): HullError {
  switch (code) {
    case "cancelled":
      return new RunCancelled({ run: spec.run_id });
    case "run_lost":
      return new RunLost({ run: spec.run_id, detail: message });
    case "deadline_exceeded":
      return new DeadlineExceeded({
        timeout_ms: Math.max(0, (spec.deadline ?? began) - began),
        during: "the workflow run",
      });
    default:
      return new ReplayMismatch({ detail: message });
  }
}

const problem = ({ data }: HullError, request_id: string): JsonObject => asJson(toProblem(data, request_id));
