/** What the Worker and the object of a workflow run tell each other. Types only. */
import type { Json, JsonObject } from "../../skill/manifest.ts";
import type { NamedRequest } from "../named-request.ts";

/** Until when an answer waits. */
type WorkflowWait = "none" | "terminal";

/** By name: what is asked, and what is answered. JSON-safe. Documents are as `runDocument` makes them. */
export interface WorkflowOperations {
  /** Makes the session and the run in it. @param spec `WorkflowSpec` as JSON @param account the soft ledger that it counts in */
  beginWorkflow: {
    in: { spec: string; account: string; request: NamedRequest };
    out: JsonObject;
  };
  /** The run's record, at once or once it has ended. */
  workflow: { in: { wait: WorkflowWait }; out: JsonObject };
  pauseWorkflow: { in: null; out: JsonObject };
  resumeWorkflow: { in: null; out: JsonObject };
  /** The run goes on with another graph. @param to `graph`, `workflow` and `skills` of a `WorkflowSpec`, as JSON */
  migrateWorkflow: { in: { to: string; request: NamedRequest }; out: JsonObject };
  stopWorkflow: { in: { kill: boolean; reason: string }; out: JsonObject };
  /** An event for wait nodes, one that comes early included. */
  workflowEvent: {
    in: { name: string; key: string | null; payload: Json; request: NamedRequest };
    out: JsonObject;
  };
  /** What a person says to a wait node that asks for approval. */
  answerWorkflow: {
    in: { node: string; granted: boolean; by: string; reason: string | null; request: NamedRequest };
    out: JsonObject;
  };
}
