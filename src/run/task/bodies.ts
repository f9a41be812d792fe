/** The bodies of requests that delegate. The readers of `options` check them. */
import * as z from "zod/mini";
import { SESSION_ID } from "../../engine/session-id.ts";
import { artifactShape } from "../../engine/workflow/artifacts.ts";
import { nodeShape } from "../../engine/workflow/graph.ts";
import { contextPolicyShape } from "../../engine/workflow/select-artifacts.ts";
import { transcriptShape } from "../../llm/transcript.ts";
import { jsonObject } from "../../skill/json-shape.ts";
import { permissionsShape, policyShape } from "../../skill/policy.ts";

const maybe = z.exactOptional;
/** Most characters of a task. */
const MAX_TASK = 256 * 1024;
const task = () => z.string().check(z.minLength(1), z.maxLength(MAX_TASK));
const name = () => z.string().check(z.minLength(1), z.maxLength(128));
const sessionId = () => z.string().check(z.regex(SESSION_ID));
const texts = () => z.array(z.string());

/** Members of the request that a handle returns unchanged. */
const requestFields = () => ({
  payload: maybe(z.json()),
  research_questions: maybe(texts()),
  action_items: maybe(texts()),
  workflow_stages: maybe(texts()),
  verification_steps: maybe(texts()),
});

/** A folder of the session's files. */
const folder = () =>
  z
    .string()
    .check(
      z.maxLength(512),
      z.regex(/^(?!\/)(?!(?:.*\/)?\.{1,2}(?:\/|$))[^\0\\]+$/, "a folder, relative and without . or .."),
    );

/** Names that bash does not let a command set, and names of Hull's own. */
const NO_VARIABLE = /^(?:HULL_.*|HUSK_.*|BASHOPTS|BASH_VERSINFO|EUID|PPID|SHELLOPTS|UID)$/;
const MAX_VARIABLES = 64;
const MAX_VARIABLE = 8192;

const variables = () =>
  z
    .record(
      z.string().check(
        z.regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "is not the name of a variable"),
        z.refine((name) => !NO_VARIABLE.test(name), "is a variable that no command may set"),
      ),
      z.string().check(z.maxLength(MAX_VARIABLE), z.regex(/^[^\0]*$/, "must be without NUL")),
    )
    .check(
      z.refine(
        (all) => Object.keys(all).length <= MAX_VARIABLES,
        `must be at most ${MAX_VARIABLES} variables`,
      ),
    );

const execution = () =>
  maybe(
    z.strictObject({
      cwd: maybe(folder()),
      env: maybe(variables()),
      worktree: maybe(
        z.never("a deployment has no repositories; put the files into the session and use cwd"),
      ),
    }),
  );

const carry = () =>
  z.strictObject({
    artifact_mode: maybe(z.enum(["inherit", "none"])),
    transcript_mode: maybe(z.enum(["inherit", "fork", "reset", "compact"])),
    context_policy: maybe(contextPolicyShape()),
    persist_state: maybe(z.boolean()),
    retriggerable: maybe(z.boolean()),
    resume_workflow: maybe(z.boolean()),
    policy: maybe(policyShape),
  });

/** A node that one run executes, with the members of a graph's node that concern a run. */
const node = () =>
  z.extend(
    z.pick(nodeShape(), {
      id: true,
      mode: true,
      prompt: true,
      system: true,
      task_label: true,
      done_sentinel: true,
      tools: true,
      model_policy: true,
      auto_compact: true,
      context_policy: true,
      capability_policy: true,
      approval_policy: true,
      output_contract: true,
      exit_when_verified: true,
      metadata: true,
    }),
    { kind: maybe(z.enum(["stage", "subagent"])) },
  );

/** The body of `POST /tasks`. */
export const taskBody = z.lazy(() =>
  z.strictObject({
    task: task(),
    node: maybe(node()),
    graph: maybe(jsonObject()),
    name: maybe(name()),
    wait: maybe(z.boolean()),
    artifacts: maybe(z.array(artifactShape()).check(z.maxLength(200))),
    options: maybe(jsonObject()),
    transcript: maybe(transcriptShape),
    policy: maybe(policyShape),
    tools: maybe(texts()),
    permissions: maybe(permissionsShape),
    execution: execution(),
    carry: maybe(carry()),
    parent_session_id: maybe(sessionId()),
    ...requestFields(),
  }),
);
export type TaskBody = z.infer<typeof taskBody>;

/** The options that a sub-agent has and a run has not. */
export const subAgentFields = () =>
  z.object({
    name: maybe(name()),
    system: maybe(z.string()),
    allowed_tools: maybe(texts()),
    returns: maybe(z.strictObject({ schema: jsonObject() })),
    background: maybe(z.boolean()),
    session_id: maybe(sessionId()),
    fork: maybe(z.boolean()),
    request: maybe(jsonObject()),
    ...requestFields(),
  });

/** The body of `POST /sub-agents`. */
export const subAgentBody = z.lazy(() =>
  z.strictObject({
    task: task(),
    options: maybe(z.catchall(subAgentFields(), z.json())),
    parent_session_id: maybe(sessionId()),
  }),
);
export type SubAgentBody = z.infer<typeof subAgentBody>;

export const waitBody = z.lazy(() =>
  z.strictObject({
    ids: z.union(
      [sessionId(), z.array(sessionId()).check(z.minLength(1), z.maxLength(100))],
      "must be an id, or a list of 1 to 100 ids",
    ),
    timeout_ms: maybe(z.int().check(z.nonnegative(), z.lte(3_600_000))),
  }),
);
export const inputBody = z.lazy(() => z.strictObject({ task: task() }));
export const triggerBody = z.lazy(() => z.strictObject({ payload: maybe(z.json()) }));
export const resumeBody = z.lazy(() =>
  z.strictObject({ id: maybe(sessionId()), snapshot_path: maybe(z.string()), run: maybe(z.boolean()) }),
);
