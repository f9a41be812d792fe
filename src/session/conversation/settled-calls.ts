/** The calls of tools and clients that records settle. Pure. */
import type { Applied } from "../../engine/agent/apply.ts";
import { type SettledCall, settledBy } from "../../engine/agent/entries.ts";
import type { AgentToolResult } from "../../engine/agent/records.ts";
import { clientResult } from "../../engine/agent/settle-call.ts";
import type { ToolCallBlock } from "../../engine/messages.ts";

/** Reads records in order. */
export class SettledCalls {
  /**
   * The open calls of a run with an unreadable beginning, which the fold does not know: of its last turn by their ids,
   * started ones by their effects, with their final arguments.
   */
  #open = new Map<string, ToolCallBlock>();

  /** The call that the record settles, with its final arguments and its result; `null`: it settles none. */
  read(applied: Applied): SettledCall | null {
    const { record, before } = applied;
    if (!("run" in record) || record.run === before.run?.spec.run_id) return settledBy(applied);
    switch (record.type) {
      case "turn_taken":
        this.#open = new Map(record.calls.map((call) => [call.id, call]));
        return null;
      case "tools_started":
        for (const { effect, call } of record.calls) this.#open.set(effect, call);
        return null;
      case "tool_settled":
        return this.#settled(record.effect, record.result);
      case "client_tool_answered":
        return this.#settled(record.call_id, clientResult(record));
      default:
        return null;
    }
  }

  #settled(key: string, result: AgentToolResult): SettledCall | null {
    const call = this.#open.get(key);
    this.#open.delete(key);
    return call === undefined ? null : { call, result };
  }
}
