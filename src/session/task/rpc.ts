/** The messages between the Worker, a task's session and the session that delegated it. Types only. */
import type { AgentSpec, Ceilings } from "../../engine/agent/spec.ts";
import type { Message } from "../../engine/messages.ts";
import type { WorkflowSpec } from "../../engine/workflow/records.ts";
import type { RunEvent } from "../../run/events.ts";
import type { TaskHandle, TaskSettings } from "../../run/task/handle.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import type { NamedRequest } from "../named-request.ts";

type Named = { request: NamedRequest };

/** A task, and what it took. `thrown`: the error of a failed one, in the first answer after its end only. */
interface Waited {
  task: TaskHandle;
  thrown: JsonObject | null;
  spent: { tokens: number; cost_usd: number };
}

/** What a task's run carries out: a workflow with the mode `workflow`. */
export type TaskWork = { agent: AgentSpec } | { workflow: WorkflowSpec };

/** By name: the questions to a session that is a task, or that has delegated some. JSON-safe. */
export interface TaskOperations {
  /**
   * Makes the session and begins the task's first run. @throws InputInvalid if the session above is below this one
   * @param imported the conversation with which it begins
   * @param request `null`: the id of the run identifies a repetition
   */
  spawn_task: {
    in: {
      work: TaskWork;
      settings: TaskSettings;
      imported: { messages: Message[]; summary: string | null } | null;
      /** Whether the answer waits until lists show it. Otherwise lists show the task in a moment, or when it has ended. */
      listed: boolean;
      /** Whether the answer also waits until the task has ended. */
      wait: boolean;
      request: NamedRequest | null;
    };
    out: Waited;
  };
  task: { in: null; out: TaskHandle };
  /**
   * Waits while the task runs or awaits.
   * @param timeout_ms `null`: no limit
   */
  task_wait: {
    in: { timeout_ms: number | null };
    out: Waited;
  };
  /** Runs it again. @param task `null`: the same task, with this payload */
  task_input: { in: { run_id: string; task: string } & Named; out: TaskHandle };
  task_trigger: { in: { run_id: string; payload: Json } & Named; out: TaskHandle };
  /** Lets a closed task take input again. @param run_id of a run that begins at once; `null`: none */
  task_resume: { in: { run_id: string | null } & Named; out: TaskHandle };
  /** @param request `null`: nobody repeats it later */
  task_close: { in: { request: NamedRequest | null }; out: TaskHandle };
  /** The conversation so far, also in the middle of a run. */
  said: { in: null; out: { visible: Message[]; summary: string | null } };
  /** The limits for a run that this session delegates. */
  ceilings: { in: null; out: Ceilings & { task_id: string | null } };
  /** The sessions to which this one reports what happens in it, or is about to. */
  above: { in: null; out: { session_ids: string[] } };
  /** Notes a delegated run of this session. Answers the task that the session carries out; `null`: none. */
  delegate: { in: { child: string; run_id: string | null }; out: { task_id: string | null } };
  /**
   * Takes in a delegated run's events, each once. Answers the last event that it knows, and whether the run is to go on.
   * @param after the number in the child's log after which the events begin
   */
  relay: {
    in: { child: string; after: number; events: RunEvent[]; last: number; over: boolean };
    out: { known: number; goes_on: boolean };
  };
}
