/** The bodies of requests about workflows and their runs. */
import * as z from "zod/mini";
import { CRASH_PLACES } from "../../engine/workflow/crash-places.ts";
import { editInput } from "../../engine/workflow/edit.ts";
import { once } from "../../memo.ts";
import { MAX_AHEAD_MS } from "../../skill/field-kinds.ts";
import { anyJson, jsonObject } from "../../skill/json-shape.ts";
import { policyShape } from "../../skill/policy.ts";

const maybe = z.exactOptional;
/** A graph, unchecked: `readGraph` checks it. */
export const anyGraph = anyJson();
/** Artifacts, unchecked: `readArtifacts` checks them. */
export const anyArtifacts = anyJson();
const text = () => z.string().check(z.minLength(1));

export const validateBody = z.lazy(() =>
  z.strictObject({ graph: anyGraph, ceiling: maybe(z.nullable(policyShape)) }),
);
export const graphBody = z.lazy(() => z.strictObject({ graph: anyGraph }));

export const executeBody = z.lazy(() =>
  z.strictObject({
    task: text(),
    graph: maybe(anyGraph),
    workflow: maybe(text()),
    artifacts: maybe(anyArtifacts),
    options: maybe(jsonObject()),
  }),
);
export type ExecuteBody = z.infer<typeof executeBody>;
export const stopBody = z.lazy(() => z.strictObject({ reason: maybe(z.string()) }));
export const forkRunBody = z.lazy(() =>
  z.strictObject({
    from: text(),
    input: maybe(z.strictObject({ task: maybe(text()), artifacts: maybe(anyArtifacts) })),
  }),
);
export type ForkRunBody = z.infer<typeof forkRunBody>;
export const migrateBody = z.lazy(() => z.strictObject({ graph: maybe(anyGraph), workflow: maybe(text()) }));
export const signalBody = z.lazy(() =>
  z.strictObject({ name: text(), key: maybe(z.nullable(z.string())), payload: maybe(anyJson()) }),
);
export const answerBody = z.lazy(() =>
  z.strictObject({
    node: text(),
    decision: z.enum(["approve", "deny"]),
    reason: maybe(z.nullable(z.string())),
  }),
);

const ordinal = () => maybe(z.int().check(z.positive()));
const MAX_CRASHES = 100;

/** A list of mocks answers every attempt; a list of lists has one for each attempt. */
const testShape = () =>
  z.strictObject({
    virtual_time: maybe(z.boolean()),
    mocks: maybe(z.record(z.string(), z.array(anyJson()))),
    approvals: maybe(z.record(z.string(), z.enum(["approve", "deny"]))),
    signals: maybe(
      z.array(
        z.strictObject({ name: text(), key: maybe(z.nullable(z.string())), payload: maybe(anyJson()) }),
      ),
    ),
    crashes: maybe(
      z
        .array(
          z.strictObject({
            node: text(),
            visit: ordinal(),
            attempt: ordinal(),
            item: maybe(z.int().check(z.nonnegative())),
            at: z.enum(CRASH_PLACES),
          }),
        )
        .check(z.maxLength(MAX_CRASHES)),
    ),
  });

export type GivenTest = z.infer<ReturnType<typeof testShape>>;

/** A day. */
const MAX_COMPENSATION_MS = 24 * 3_600_000;

/** The options of the workflow run itself; all others are run options, for every stage. */
export const workflowOptions = once(() =>
  z.object({
    max_steps: maybe(z.int().check(z.positive(), z.lte(100_000))),
    max_concurrent: maybe(z.int().check(z.positive(), z.lte(100))),
    deadline_ms: maybe(z.int().check(z.positive(), z.lte(MAX_AHEAD_MS))),
    compensation_ms: maybe(z.int().check(z.positive(), z.lte(MAX_COMPENSATION_MS))),
    resume_run: maybe(z.union([text(), jsonObject()], "must be a run's id or record")),
    replay_run: maybe(z.union([text(), jsonObject()], "must be a run's id or record")),
    persist_path: maybe(text()),
    resume_path: maybe(text()),
    replay_path: maybe(text()),
    replay_mode: maybe(z.literal("deterministic")),
    parent_run_id: maybe(text()),
    root_run_id: maybe(text()),
    metadata: maybe(jsonObject()),
    audit: maybe(jsonObject()),
    policy: maybe(jsonObject()),
    test: maybe(testShape()),
  }),
);
export type GivenOptions = z.infer<ReturnType<typeof workflowOptions>>;

/** Of the operations that edit one graph, and of `diff`. */
export const editBody = z.lazy(() =>
  z.strictObject({
    graph: maybe(anyGraph),
    ...editInput().shape,
    left: maybe(anyGraph),
    right: maybe(anyGraph),
  }),
);
export const taskRunBody = z.lazy(() =>
  z.strictObject({
    task: text(),
    flow: z.union([text(), jsonObject()], "must be a graph or the name of a workflow"),
    overrides: maybe(jsonObject()),
    artifacts: maybe(anyArtifacts),
  }),
);
export type TaskRunBody = z.infer<typeof taskRunBody>;
export const runSessionBody = z.lazy(() => z.strictObject({ result: jsonObject() }));
export const newSessionBody = z.lazy(() => z.strictObject({ metadata: maybe(jsonObject()) }));
export const persistBody = z.lazy(() => z.strictObject({ session: jsonObject(), path: maybe(z.string()) }));
export const restoreBody = z.lazy(() => z.strictObject({ path: text() }));
/** Of `session_<operation>`: the options of that operation on transcripts are further members. */
export const ofSessionBody = z.lazy(() => z.looseObject({ session: jsonObject() }));
