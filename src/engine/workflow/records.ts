/** The journal of a workflow run: what is stored before anything is done about it. Pure. */
import type { Json, JsonObject } from "../../skill/manifest.ts";
import type { Ceilings } from "../agent/spec.ts";
import type { WorkflowArtifact } from "./artifacts.ts";
import type { Graph } from "./graph.ts";

/** How long the compensations of a stopped run may take together, where it says nothing. */
export const COMPENSATION_MS = 300_000;

/** The versions of skills that a run keeps to. */
export interface PinnedSkills {
  /** By the name that the run gives the skill. */
  digests: { [name: string]: string };
  /** What `*` stands for. */
  all?: string[];
}

/** All that a run knows when it begins; it never changes. */
export interface WorkflowSpec {
  run_id: string;
  /** As which it is stored, `version` `null` for one of a skill; `null`: the request brought the graph. */
  workflow: { name: string; version: number | null; digest: string } | null;
  /** Digests of the skills that its stages name; absent: those that are served at the time. */
  skills?: PinnedSkills;
  graph: Graph;
  task: string;
  /** Stages, attempts not counted; waiting joins cost none. */
  max_steps: number;
  /** Run options that hold for every stage. */
  options: JsonObject;
  /** The ceiling: what the deployment, the request and the graph allow, intersected. `null`: unrestricted. */
  policy: JsonObject | null;
  artifacts: WorkflowArtifact[];
  /** When it ends at the latest, Unix ms; `null`: never. */
  deadline: number | null;
  /** How long compensations may take together, in ms; absent: `COMPENSATION_MS`. */
  compensation_ms?: number;
  parent_run_id: string | null;
  root_run_id: string;
  metadata: JsonObject;
  /** What is left to it by the session that it was delegated from; absent: nobody delegated it. */
  above?: Ceilings;
  /** Where the commands of its stages begin, and with which variables. Absent: in their folder, with none. */
  cwd?: string;
  variables?: { readonly [name: string]: string };
  /** The run that this one goes on from, or repeats; its stages up to there. */
  origin?: Origin;
  /** What stands for the world while an author tries the graph. */
  test?: WorkflowTest;
}

/** What stands for models, people and the clock in a run that tries a graph. */
export interface WorkflowTest {
  /** Where only time can let the run go on, it passes at once. */
  virtual_time?: boolean;
  /** By node, what the mock provider answers in each attempt; the last list counts for all further ones. */
  mocks?: { [node: string]: Json[][] };
  /** By node, what is said where it asks. */
  approvals?: { [node: string]: "approve" | "deny" };
  /** Events that are there from the beginning. */
  signals?: { name: string; key: string | null; payload: Json }[];
}

/** What a run takes over from an earlier one. */
export interface Origin {
  run_id: string;
  how: "resume" | "fork" | "replay";
  /** Taken over as they are. */
  stages: Stage[];
  transitions: Transition[];
  /** Nodes that come next, in their order. */
  pending: string[];
  /** `resume`: stages that a compensation has undone, by their ids. */
  undone?: string[];
  /** `replay`: these answer in place of the models and tools. */
  recorded?: Stage[];
  /** How often each edge was taken, by its place in `edges`. */
  traversals: { [edge: string]: number };
}

export interface Usage {
  input_tokens: number;
  output_tokens: number;
  total_duration_ms: number;
  call_count: number;
  total_cost: number;
  models: string[];
}

export const NO_USAGE: Usage = {
  input_tokens: 0,
  output_tokens: 0,
  total_duration_ms: 0,
  call_count: 0,
  total_cost: 0,
  models: [],
};

export interface StageError {
  code: string;
  message: string;
}

/** What came of one attempt of a node, or of one item of a map. */
export interface Outcome {
  status: "completed" | "failed" | "partial";
  /** `success`, `verified`, … as the kind of node has it. */
  outcome: string;
  /** Which edges come next. */
  branch: string;
  text: string;
  reasoning: string | null;
  artifacts: WorkflowArtifact[];
  usage: Usage;
  /** Of a verify node: `{ok, …}` of each check. */
  verification: Json;
  transcript: Json;
  error: StageError | null;
  /** The run and the session that did the work. */
  child_run_id: string | null;
  child_session_id: string | null;
  /** `tools`, `policy`, `items`, `wait` as they were in force. */
  metadata: JsonObject;
}

export interface Attempt {
  /** From 1. */
  attempt: number;
  status: string;
  outcome: string;
  branch: string;
  error: StageError | null;
  /** RFC 3339. */
  started_at: string;
  finished_at: string;
  child_run_id: string | null;
  usage: Usage;
}

/** A finished visit of a node, as the run's record has it. */
export interface Stage {
  /** `<run>:<node>:<visit>`. */
  id: string;
  node_id: string;
  kind: string;
  status: string;
  outcome: string;
  branch: string;
  started_at: string;
  finished_at: string;
  visible_text: string;
  private_reasoning: string | null;
  transcript: Json;
  verification: Json;
  /** Of all its attempts. */
  usage: Usage;
  artifacts: WorkflowArtifact[];
  consumed_artifact_ids: string[];
  produced_artifact_ids: string[];
  attempts: Attempt[];
  error: StageError | null;
  /** SHA-256 (hex) of what the stage was given. */
  input_digest: string;
  metadata: JsonObject;
}

export interface Transition {
  from: string;
  to: string;
  branch: string | null;
  /** RFC 3339. */
  at: string;
}

/** Which attempt of which visit of a node; `item`: of which item of a map, from 0. */
export interface AttemptKey {
  node: string;
  visit: number;
  attempt: number;
  item?: number;
}

interface At {
  /** Unix ms. */
  at: number;
}

export type WorkflowRecord = At &
  (
    | { type: "begun"; spec: WorkflowSpec }
    /** The attempt may run from here on. `compensates`: id of the stage that it undoes. */
    | ({ type: "started"; input_digest: string; consumed: string[]; compensates?: string } & AttemptKey)
    | ({ type: "ended"; outcome: Outcome } & AttemptKey)
    /** What a wait node waits for. `until`: Unix ms, `null`: without end. */
    | { type: "waits"; node: string; visit: number; until: number | null; approval?: JsonObject }
    | { type: "event"; id: string; name: string; key: string | null; payload: Json }
    | { type: "answered"; node: string; visit: number; granted: boolean; by: string; reason: string | null }
    /** So much time passes at once, in ms. */
    | { type: "skipped"; by: number }
    | { type: "paused" }
    | { type: "resumed" }
    /** It goes on with another graph, which fits what it has done (`migrate.ts`). */
    | ({ type: "migrated" } & Pick<WorkflowSpec, "graph" | "workflow" | "skills">)
    /** `kill`: without compensation. */
    | { type: "stopped"; kill: boolean; reason: string }
    | { type: "finished"; status: FinalStatus; error: StageError | null }
  );

export type FinalStatus = "completed" | "paused" | "failed" | "cancelled";
