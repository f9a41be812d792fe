/** The journal of a workflow run: its records are stored before anything acts on them. Pure. */
import type { Json, JsonObject } from "../../skill/manifest.ts";
import type { Ceilings } from "../agent/spec.ts";
import type { ShareRecord } from "../shares.ts";
import type {
  AttemptKey,
  CrashPoint,
  PinnedSkills,
  Stage,
  StageError,
  ToolRecording,
  Transition,
  Usage,
} from "./answers.ts";
import type { WorkflowArtifact } from "./artifacts.ts";
import type { Graph } from "./graph.ts";

/** Time for all compensations of a stopped run together, if the run sets none. */
export const COMPENSATION_MS = 300_000;

/** Everything that a run knows when it begins; it never changes. */
export interface WorkflowSpec {
  run_id: string;
  /** The stored workflow. `version` is `null` for a workflow of a skill. `null`: the graph came with the request. */
  workflow: { name: string; version: number | null; digest: string } | null;
  /** Digests of the skills that its stages name; absent: each stage takes what is served at the time. */
  skills?: PinnedSkills;
  graph: Graph;
  task: string;
  /** The path of its record that the request named. Absent: it named none. */
  persist_path?: string;
  /** The most stages. Repeated attempts and waiting joins do not count. */
  max_steps: number;
  /** Run options that hold for every stage. */
  options: JsonObject;
  /** The ceiling: what the deployment, the request and the graph allow, intersected. `null`: unrestricted. */
  policy: JsonObject | null;
  artifacts: WorkflowArtifact[];
  /** When it must end, Unix ms; `null`: no deadline. */
  deadline: number | null;
  /** How long compensations may take together, in ms; absent: `COMPENSATION_MS`. */
  compensation_ms?: number;
  parent_run_id: string | null;
  root_run_id: string;
  metadata: JsonObject;
  /** Limits from the session that delegated it; absent: nobody delegated it. */
  above?: Ceilings;
  /** The folder in which the commands of its stages begin, and their variables. Absent: the stages' own folder, and none. */
  cwd?: string;
  variables?: { readonly [name: string]: string };
  /** The earlier run that this one continues or repeats, with its stages up to that point. */
  origin?: Origin;
  /** What a test run uses in place of the real world. */
  test?: WorkflowTest;
}

/** Replacements for models, people and the clock in a test run. */
export interface WorkflowTest {
  /** Time is skipped whenever only time can make the run continue. */
  virtual_time?: boolean;
  /** By node, the mock provider's answers in each attempt; the last list also answers all further attempts. */
  mocks?: { [node: string]: Json[][] };
  /** By verify node, what its command says in each attempt; the last one also holds for all further attempts. */
  commands?: { [node: string]: CommandMock[] };
  /** By node, the decision about its approval. */
  approvals?: { [node: string]: "approve" | "deny" };
  /** Events that are there from the beginning. */
  signals?: { name: string; key: string | null; payload: Json }[];
  /** Where the process of the run dies, once each. */
  crashes?: CrashPoint[];
}

/** A command's end. `exit_code`: `null` if it did not end by itself. */
export interface CommandMock {
  exit_code: number | null;
  output: string;
}

/** What a run takes over from an earlier one. */
export interface Origin {
  run_id: string;
  how: "resume" | "fork" | "replay";
  /** Stages that are taken over unchanged. */
  stages: Stage[];
  transitions: Transition[];
  /** The next nodes, in order. */
  pending: string[];
  /** `resume`: ids of the stages that are not to be undone: they have been, or a fork took them over. */
  undone?: string[];
  /** `replay`: stages whose outcomes replace models and tools. */
  recorded?: Stage[];
  /** How often each edge was taken, by its place in `edges`. */
  traversals: { [edge: string]: number };
}

export const NO_USAGE: Usage = {
  input_tokens: 0,
  output_tokens: 0,
  total_duration_ms: 0,
  call_count: 0,
  total_cost: 0,
  models: [],
};

/** The code of a stage whose command may or may not have taken effect. */
export const OUTCOME_UNKNOWN = "outcome_unknown";

/** The outcome of one attempt of a node, or of one item of a map. */
export interface Outcome
  extends Pick<
    Stage,
    | "status"
    | "outcome"
    | "branch"
    | "artifacts"
    | "usage"
    | "verification"
    | "transcript"
    | "error"
    | "metadata"
  > {
  text: string;
  reasoning: string | null;
  /** The run and the session that did the work. */
  child_run_id: string | null;
  child_session_id: string | null;
  /** The calls of its models and tools. Absent: it made none, or an earlier version of Hull ran it. */
  recorded?: RecordedCalls;
  /** Places of the mocks of the run's options that are used up. Absent: it took none of them. */
  mocks_used?: number[];
}

/** The first calls of an attempt, in their order, and how many more there were. */
export interface RecordedCalls {
  spans: {
    kind: "model" | "tool";
    name: string;
    /** Unix ms. */
    at: number;
    /** `null`: it did not end. */
    duration_ms: number | null;
    metadata: JsonObject;
  }[];
  tools: RecordedTool[];
  left_out: { spans: number; tools: number };
}

/** The result of a tool, as far as a record shows it. */
export type RecordedTool = Omit<ToolRecording, "stage_id">;

interface At {
  /** Unix ms. */
  at: number;
}

export type WorkflowRecord = At &
  (
    | { type: "begun"; spec: WorkflowSpec }
    /** The attempt may run from here on. `compensates`: id of the stage that it undoes. */
    | ({ type: "started"; input_digest: string; consumed: string[]; compensates?: string } & AttemptKey)
    /** `last`: whatever the outcome, no retry_policy repeats it. */
    | ({ type: "ended"; outcome: Outcome; last?: true } & AttemptKey)
    /** A wait node begins to wait. `until`: Unix ms, `null`: without end. */
    | { type: "waits"; node: string; visit: number; until: number | null; approval?: { question: string } }
    | { type: "event"; id: string; name: string; key: string | null; payload: Json }
    | { type: "answered"; node: string; visit: number; granted: boolean; by: string; reason: string | null }
    /** The run skips this much time, in ms. */
    | { type: "skipped"; by: number }
    /** The process dies here, because the run's author tests a crash. */
    | { type: "crashed"; point: CrashPoint }
    | { type: "paused" }
    | { type: "resumed" }
    /** The run continues with another graph, which fits its journal (`migrate.ts`). */
    | ({ type: "migrated" } & Pick<WorkflowSpec, "graph" | "workflow" | "skills">)
    | ShareRecord
    /** `kill`: without compensation. `lost`: Hull gave the run up. */
    | { type: "stopped"; kill: boolean; reason: string; lost?: true }
    | { type: "finished"; status: FinalStatus; error: StageError | null }
  );

export type FinalStatus = "completed" | "paused" | "failed" | "cancelled";
