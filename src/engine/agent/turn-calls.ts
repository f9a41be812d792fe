/** The tool calls of a run's current turn by their effects, read from its records alone. Pure. */
import type { ToolCallBlock } from "../messages.ts";
import type { AgentRecord } from "./records.ts";
import { effects } from "./state.ts";

/** Reads the records of a run in order. */
export class TurnCalls {
  #calls = new Map<string, ToolCallBlock>();
  #iteration = 0;

  read(record: AgentRecord): void {
    switch (record.type) {
      case "iteration_started":
        this.#iteration = record.iteration;
        break;
      case "turn_taken":
        this.#calls = new Map(record.calls.map((call, n) => [effects.tool(this.#iteration, n), call]));
        break;
      case "tools_started":
        // Includes arguments that hooks replaced.
        for (const { effect, call } of record.calls) this.#calls.set(effect, call);
        break;
    }
  }

  /** The call that an effect executes. */
  ofEffect(effect: string): ToolCallBlock | undefined {
    return this.#calls.get(effect);
  }

  /** The call with an id of the model. */
  withId(id: string): ToolCallBlock | undefined {
    return [...this.#calls.values()].find((call) => call.id === id);
  }
}
