/** The calls of a run's models and tools, for the record of the workflow run to which it belongs. Pure. */
import { type Applied, fold } from "../../engine/agent/apply.ts";
import { callDigest } from "../../engine/agent/policy.ts";
import type { AgentRecord } from "../../engine/agent/records.ts";
import type { RecordedCalls, RecordedTool } from "../../engine/workflow/records.ts";
import type { Mock } from "../../model/mock/mock.ts";
import { mockFromTurn } from "../../model/mock/mock-from-turn.ts";
import { asJson } from "../../skill/json.ts";
import type { RecordedResult, TraceStep } from "./answers.ts";
import { SettledCalls } from "./settled-calls.ts";
import { shortened, TraceReader } from "./trace.ts";

/** The most steps of a run to read, and of tool results to keep. */
const MOST_STEPS = 400;
const MOST_TOOLS = 50;
/** The most characters of arguments, and of a result. */
const MAX_TEXT = 2000;

/**
 * @param records all records of the run
 * @param redacted removes secrets; a secret that is cut off could no longer be found
 */
export function recordedCalls(records: Iterable<AgentRecord>, redacted: <T>(value: T) => T): RecordedCalls {
  const trace = new TraceReader({ after: 0, limit: MOST_STEPS });
  const results = new RecordedResults();
  const tools: RecordedTool[] = [];
  let made = 0;
  let unkept = 0;
  for (const applied of fold(records)) {
    const { record } = applied;
    trace.read(applied);
    if (record.type === "model_call_settled") made += 1;
    if (record.type === "turn_taken") made += record.calls.length;
    const found = results.read(applied);
    if (found === null) continue;
    if (tools.length === MOST_TOOLS) {
      unkept += 1;
      continue;
    }
    const { arguments: given, content, ...rest } = redacted(found);
    const text = JSON.stringify(given);
    tools.push({
      ...rest,
      arguments: text.length > MAX_TEXT ? shortened(text, MAX_TEXT) : given,
      content: shortened(content, MAX_TEXT),
      at: new Date(record.at).toISOString(),
      duration_ms: record.type === "tool_settled" ? record.result.duration_ms : null,
    });
  }
  const spans = trace.page().steps.flatMap((step) => spanOf(step) ?? []);
  return { spans: redacted(spans), tools, left_out: { spans: made - spans.length, tools: unkept } };
}

/** The span of a call; `null`: the step is not a call. */
function spanOf(step: TraceStep): RecordedCalls["spans"][number] | null {
  const { kind, name, model, started_at, duration_ms, ok, usage, cost_usd } = step;
  if (kind !== "model" && kind !== "tool") return null;
  const spent = usage === undefined ? {} : { usage: asJson({ ...usage }), cost_usd: cost_usd ?? 0 };
  return {
    kind,
    name: model ?? name,
    at: Date.parse(started_at),
    duration_ms,
    metadata: { ok, ...(model === undefined ? {} : { provider: name }), ...spent },
  };
}

/** A model's answer as a mock for `options.mock`; `null`: the record settles no model call. */
export function recordedAnswer(record: AgentRecord): Mock | null {
  return record.type === "model_call_settled" ? mockFromTurn(record.turn) : null;
}

/** Reads records in order. */
export class RecordedResults {
  readonly #calls = new SettledCalls();

  /** The result of a tool or of a client; `null`: the record settles no such call. */
  read(applied: Applied): RecordedResult | null {
    const { record } = applied;
    const settled = this.#calls.read(applied);
    if (settled === null || (record.type !== "tool_settled" && record.type !== "client_tool_answered"))
      return null;
    const { id, name, arguments: given } = settled.call;
    const { status, content } = settled.result;
    const args = given ?? {};
    const arguments_digest = callDigest(name, args);
    return { run_id: record.run, tool_call_id: id, name, arguments: args, arguments_digest, status, content };
  }
}
