/** The requests that earlier run attempts made to mocks, for `mock_calls` of the result. */
import { applyAgentRecord } from "../../engine/agent/apply.ts";
import { nextAgentStep, type Vault } from "../../engine/agent/next.ts";
import type { AgentRecord } from "../../engine/agent/records.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import { type AgentState, EMPTY_SESSION } from "../../engine/agent/state.ts";
import type { AgentRequest } from "../../engine/agent/step.ts";
import type { LlmHost } from "../../llm/host.ts";
import type { RequestSettings } from "../../llm/prepare.ts";
import { mockCallOf } from "../../model/mock/answering.ts";
import type { MockCall } from "../../model/mock/mock.ts";
import { modelOf } from "./run-model.ts";
import { withMessage } from "./structured-turn.ts";

interface Asked {
  spec: AgentSpec;
  host: LlmHost;
  vault: Vault | null;
  /** The first iteration to leave out; `null`: include all. */
  before: number | null;
}

/**
 * A run attempt keeps only its own calls. This function derives the earlier ones from the records, since the state alone
 * decides what Hull asks a model. It leaves out failed attempts.
 * @param records all records of the session, in order
 */
export function earlierMockCalls(
  records: Iterable<AgentRecord>,
  { spec, host, vault, before }: Asked,
): MockCall[] {
  if (before === 0) return [];
  const settings = settingsOf(spec, host);
  const calls: MockCall[] = [];
  let state: AgentState = EMPTY_SESSION;
  for (const record of records) {
    if (record.type === "model_call_settled" && record.run === spec.run_id) {
      const step = nextAgentStep(state, vault, record.at);
      if (step.type === "call_model" && (before === null || step.iteration < before)) {
        for (const request of attempts(step.request, record))
          calls.push(mockCallOf({ ...settings, ...request }, spec.model.model));
      }
    }
    state = applyAgentRecord(state, record);
  }
  return calls;
}

/**
 * Request settings for the listed calls. If they cannot be determined, plain settings do: they only inform the reader of
 * a test, and a run must be able to end.
 */
function settingsOf(spec: AgentSpec, host: LlmHost): RequestSettings {
  try {
    const { targets, settings } = modelOf(spec, host);
    return targets[0] === undefined ? PLAIN : settings(targets[0]);
  } catch {
    return PLAIN;
  }
}

const PLAIN: RequestSettings = { max_tokens: 0, json: false };

/** The request, and one more for each correction that a structured answer needed. */
function attempts(
  request: AgentRequest,
  { retries = [] }: Extract<AgentRecord, { type: "model_call_settled" }>,
): AgentRequest[] {
  const corrected = retries.map(({ correction_prompt: text }) =>
    typeof text === "string" ? withMessage(request, text) : request,
  );
  return [request, ...corrected];
}
