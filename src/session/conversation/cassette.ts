/** The answers of a session's models and tools, from its records. Pure. */
import { callDigest } from "../../engine/agent/policy.ts";
import type { AgentRecord, ToolStatus } from "../../engine/agent/records.ts";
import { TurnCalls } from "../../engine/agent/turn-calls.ts";
import type { ToolCallBlock } from "../../engine/messages.ts";
import type { Mock } from "../../model/mock/mock.ts";
import { mockFromTurn } from "../../model/mock/mock-from-turn.ts";
import type { JsonObject } from "../../skill/manifest.ts";

interface RecordedResult {
  run_id: string;
  tool_call_id: string;
  name: string;
  arguments: JsonObject;
  /** SHA-256 (hex) of name and arguments. */
  arguments_digest: string;
  status: ToolStatus;
  content: string;
}

/** A model's answer as a mock for `options.mock`; `null`: the record settles no model call. */
export function recordedAnswer(record: AgentRecord): Mock | null {
  return record.type === "model_call_settled" ? mockFromTurn(record.turn) : null;
}

/** Reads records in order and returns the tool results in them. */
export class ResultReader {
  readonly #calls = new TurnCalls();

  read(record: AgentRecord): RecordedResult | null {
    this.#calls.read(record);
    if (record.type === "tool_settled") {
      const { status, content } = record.result;
      return resultOf(record.run, this.#calls.ofEffect(record.effect), status, content);
    }
    if (record.type !== "client_tool_answered") return null;
    const call = this.#calls.withId(record.call_id);
    return resultOf(record.run, call, record.is_error ? "error" : "ok", record.content);
  }
}

function resultOf(
  run_id: string,
  call: ToolCallBlock | undefined,
  status: ToolStatus,
  content: string,
): RecordedResult | null {
  if (call === undefined) return null;
  const { id, name } = call;
  const given = call.arguments ?? {};
  const arguments_digest = callDigest(name, given);
  return { run_id, tool_call_id: id, name, arguments: given, arguments_digest, status, content };
}
