/** What a session needs to execute its runs, and what it provides for them. */
import type { Vault } from "../../engine/agent/next.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { AgentState } from "../../engine/agent/state.ts";
import type { AgentEffects } from "../../engine/agent/step.ts";
import type { Artifact } from "../../engine/artifact.ts";
import type { Told } from "../../llm/history.ts";
import type { LlmHost } from "../../llm/host.ts";
import type { RunRequest } from "../../session/conversation/rpc.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import type { KnownExecutions } from "../../tool/runner-client.ts";
import type { RunContext } from "../context.ts";
import type { RunEvent } from "../events.ts";
import type { WorkspaceAccess } from "../workspace/access.ts";
import type { CheckedRun } from "./options.ts";
import type { RecordSource } from "./run-log.ts";

/** A request checked in the place where its run begins, with what the first attempt would have to find out again. */
export interface PreparedRun extends CheckedRun {
  context: RunContext;
  host: LlmHost;
}

/** The place where a run happens. Its methods have stored their values when they return. */
export interface RunEnvironment {
  run_id: string;
  session_id: string;
  context: RunContext;
  records: RecordSource;
  /** The executions that the runner may know. */
  known: KnownExecutions;
  /** The last version of an artifact of the session; `null`: there is none. */
  artifact(id: string): Artifact | null;
  /** The session's files. */
  workspace: WorkspaceAccess;
  /** Sends watchers something that no record holds: deltas, thoughts, output of tools. */
  emit(event: RunEvent): void;
  /** The value that an earlier run attempt kept with `remember`; `null`: none. */
  memo: Json;
  /** Keeps a value for later run attempts and replaces the one before. It is stored with the next records of the run. */
  remember(value: Json): void;
  /** What the request was prepared into, for the first attempt; `null`: a later attempt, or the run was prepared elsewhere. */
  prepared: PreparedRun | null;
}

interface RunTimes {
  /** Unix ms. */
  created_at: number;
  /** `null`: the run is still under way. */
  settled_at: number | null;
}

interface BegunRun {
  effects: AgentEffects;
  vault: Vault | null;
  /** More members of the result, as this run attempt knows them. */
  further: () => JsonObject;
  /** Ends what the effects hold open beyond a call, in the background. */
  close: () => void;
}

export interface AgentRuntime {
  /**
   * Turns a request into a run: chooses its model, collects its skills and tools.
   * @throws as `checkedRun`
   */
  prepare(
    request: RunRequest,
    at: { run: string; session: string },
    context: RunContext,
  ): Promise<PreparedRun>;
  /**
   * Returns the effects of a run, for one run attempt. A planned call that an earlier attempt began has `again` set: ids
   * of run and effect identify the same work.
   * @param signal aborts when the run is cancelled
   * @throws the HullError that ends the run
   */
  begin(spec: AgentSpec, environment: RunEnvironment, signal: AbortSignal): Promise<BegunRun>;
  /** The result's document. @param told by the records of this run, including those that end it */
  resultOf(state: AgentState, run: RunTimes, told: Told): JsonObject;
  /** Ends what the runner may still be doing for an abandoned run. @param executions recorded ids */
  stop(environment: RunEnvironment, executions: readonly string[]): Promise<void>;
}
