/** The answers of a session's models and tools, from its records. Pure. */
import type { Applied } from "../../engine/agent/apply.ts";
import { callDigest } from "../../engine/agent/policy.ts";
import type { AgentRecord } from "../../engine/agent/records.ts";
import type { Mock } from "../../model/mock/mock.ts";
import { mockFromTurn } from "../../model/mock/mock-from-turn.ts";
import type { RecordedResult } from "./answers.ts";
import { SettledCalls } from "./settled-calls.ts";

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
