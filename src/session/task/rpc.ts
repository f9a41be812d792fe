/** The messages between the Worker, a task's session and the session that delegated the task. Types only. */
import type { AgentSpec, Ceilings } from "../../engine/agent/spec.ts";
import type { Message } from "../../engine/messages.ts";
import type { ReturnedShare, Share, Spent } from "../../engine/shares.ts";
import type { WorkflowSpec } from "../../engine/workflow/records.ts";
import type { RunEvent } from "../../run/events.ts";
import type { TaskHandle, TaskSettings } from "../../run/task/handle.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import type { Named, NamedRequest } from "../named-request.ts";

/** A task and its usage. `thrown`: the error of a failed task, only in the first answer after its end. */
interface Waited {
  task: TaskHandle;
  thrown: JsonObject | null;
  spent: Spent;
}

/** How long a request waits for a task. */
export interface TaskWait {
  /** `null`: no limit. */
  timeout_ms: number | null;
  /** `end`: it has ended for good. `cycle`: or it awaits its next cycle. */
  until: "end" | "cycle";
}

/** What a task's run executes: an agent run, or for the mode `workflow` a workflow run. */
export type TaskWork = { agent: AgentSpec } | { workflow: WorkflowSpec };

/** Input and output of each operation, by name, on a session that is a task or has delegated one. JSON-safe. */
export interface TaskOperations {
  /**
   * Creates the session and begins the task's first run.
   * @param imported the conversation to begin with
   * @param request `null`: the id of the run identifies a repetition
   * @throws InputInvalid if the session above is below this one
   */
  spawn_task: {
    in: {
      work: TaskWork;
      settings: TaskSettings;
      imported: { messages: Message[]; summary: string | null } | null;
      /**
       * Whether the answer waits until lists show the task. Otherwise they show it a moment later, or when it has ended.
       */
      listed: boolean;
      /** Whether the answer also waits until the task has ended, or awaits its next cycle. */
      wait: boolean;
      request: NamedRequest | null;
    };
    out: Waited;
  };
  task: { in: null; out: TaskHandle };
  /** Waits while the task is running. */
  task_wait: { in: TaskWait; out: Waited };
  /** Runs the task again. @param task `null`: the same task, with this payload */
  task_input: { in: { run_id: string; task: string } & Named; out: TaskHandle };
  task_trigger: { in: { run_id: string; payload: Json } & Named; out: TaskHandle };
  /** Makes a closed task accept input again. @param run_id id of a run to begin at once; `null`: none */
  task_resume: { in: { run_id: string | null } & Named; out: TaskHandle };
  /** @param request `null`: the caller never repeats it */
  task_close: { in: { request: NamedRequest | null }; out: TaskHandle };
  /** The conversation so far, even in the middle of a run. */
  said: { in: null; out: { visible: Message[]; summary: string | null } };
  /** The limits for a run that this session delegates. */
  ceilings: { in: null; out: Ceilings & { task_id: string | null } };
  /** The sessions to which this one reports its events, or is about to. */
  above: { in: null; out: { session_ids: string[] } };
  /**
   * Notes a delegated run.
   * @param asks for a task: id of its run, and what the run may use at most. Absent: the run under way here gives the
   * delegated run its part and waits for it
   * @param ended the task's run before; `null`: none
   * @returns the task that this session executes, `null`: none; and what the delegated run may use, `null`: what it asks for
   * @throws TooManyDelegated; ToolsRejected if nothing is left for it
   */
  delegate: {
    in: {
      child: string;
      run_id: string | null;
      asks?: Share & { task_run: string; ended: ReturnedShare | null };
    };
    out: { task_id: string | null; granted: Share | null };
  };
  /** A task's run that was noted did not begin. @param over whether no earlier run of the task is under way */
  undelegate: { in: { child: string; task_run: string; over: boolean }; out: null };
  /** Which of these runs of its task have begun. Waits for a run that is about to begin. */
  begun: { in: { task_runs: string[] }; out: { task_runs: string[] } };
  /**
   * Stores a delegated run's events, each once. Returns the number of the last event that it has, and whether the run
   * may continue.
   * @param after number of the event in the child's log after which these events come
   * @param ended with `over`, of a task
   */
  relay: {
    in: {
      child: string;
      after: number;
      events: RunEvent[];
      last: number;
      over: boolean;
      ended?: ReturnedShare;
    };
    out: { known: number; goes_on: boolean };
  };
}
