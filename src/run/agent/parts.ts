/** What a session asks of the rest of Hull to carry its runs out, and what it gives for it. */
import type { Vault } from "../../engine/agent/next.ts";
import type { AgentRecord } from "../../engine/agent/records.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { AgentState } from "../../engine/agent/state.ts";
import type { AgentEffects } from "../../engine/agent/step.ts";
import type { Artifact } from "../../engine/artifact.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import type { KnownExecutions } from "../../tool/runner-client.ts";
import type { RunContext } from "../context.ts";
import type { RunEvent } from "../events.ts";
import type { WorkspaceAccess } from "../workspace/access.ts";

/** Where a run takes place. What is noted and told here is stored when the call returns. */
export interface RunEnvironment extends KnownExecutions {
  run_id: string;
  session_id: string;
  context: RunContext;
  /** All records of the session, in order. */
  records(): Iterable<AgentRecord>;
  /** The last version of an artifact of the session; `null`: there is none. */
  artifact(id: string): Artifact | null;
  /** The session's files. */
  workspace: WorkspaceAccess;
  /** Tells watchers something that no record holds: deltas, thoughts, output of tools. */
  emit(event: RunEvent): void;
  /** What an earlier life of the run left behind by `remember`; `null`: nothing. */
  memo: Json;
  /** Keeps a value for later lives, in place of the one before; stored with the next records of the run. */
  remember(value: Json): void;
}

interface RunFacts {
  run_id: string;
  session_id: string;
  /** Unix ms. */
  created_at: number;
  /** `null`: it is still under way. */
  settled_at: number | null;
}

interface BegunParts {
  effects: AgentEffects;
  vault: Vault | null;
  /** Further members of the result, as this life knows them. */
  further: () => JsonObject;
}

export interface AgentParts {
  /**
   * How the effects of a run are carried out, asked for by each of its lives. A planned call that an earlier life began
   * comes `again`: its effect id, with the run's, names the same work.
   * @param signal aborted when the run is cancelled
   * @throws HullError that the run ends with
   */
  begin(spec: AgentSpec, environment: RunEnvironment, signal: AbortSignal): Promise<BegunParts>;
  /** The result's document. @param records of this run, in order, with those that end it */
  resultOf(state: AgentState, run: RunFacts, records: Iterable<AgentRecord>): JsonObject;
  /** Ends what may be going on in the runner for a run that was given up. @param executions ids that were noted */
  stop(environment: RunEnvironment, executions: readonly string[]): Promise<void>;
}
