/** The messages between the Worker and the object of a workflow run. Types only. */
import type { WorkflowSpec } from "../../engine/workflow/records.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import type { Named } from "../named-request.ts";

/** How long an answer waits. */
type WorkflowWait = "none" | "terminal";

/** The graph of a run, where the graph comes from, and the versions of its skills. */
type GraphInUse = Pick<WorkflowSpec, "graph" | "workflow" | "skills">;

/** Input and output of each operation, by name. JSON-safe. `runDocument` makes the documents. */
export interface WorkflowOperations {
  /** Creates the session and the run in it. @param account the soft ledger in which it counts */
  beginWorkflow: { in: { spec: WorkflowSpec; account: string } & Named; out: JsonObject };
  /** The run's record, immediately or once the run has ended. */
  workflow: { in: { wait: WorkflowWait }; out: JsonObject };
  pauseWorkflow: { in: Named; out: JsonObject };
  resumeWorkflow: { in: Named; out: JsonObject };
  /** Lets the run continue with another graph. */
  migrateWorkflow: { in: { to: GraphInUse } & Named; out: JsonObject };
  stopWorkflow: { in: { kill: boolean; reason: string } & Named; out: JsonObject };
  /** An event for wait nodes. An event that comes early is kept. */
  workflowEvent: { in: { name: string; key: string | null; payload: Json } & Named; out: JsonObject };
  /** A person's answer to a wait node that asks for approval. */
  answerWorkflow: {
    in: { node: string; granted: boolean; by: string; reason: string | null } & Named;
    out: JsonObject;
  };
}
